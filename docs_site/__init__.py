"""The documentation as a site: written pages of docs/, and pages made of the command line, the schemas and the series.

``python -m docs_site DIR`` builds it into a new folder. What is made is made there; nothing of it is committed.
"""
