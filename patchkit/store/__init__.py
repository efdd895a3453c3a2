"""Our own files: the patch series, its lock, upstream_versions.yaml."""
