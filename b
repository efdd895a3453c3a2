{
  "schema": 1,
  "tool": "0.1.0",
  "command": "check-upstream",
  "ok": true,
  "verdict": "fine",
  "series": "/tmp/pytest-of-root/pytest-519/test_a_report_goes_to_a_file_o0/world/patches/megatron",
  "digest": "sha256:a67b8fae808adfefe7df433e79533351c9edaef65df29bab116fb1ad1f8a121a",
  "repository": "https://example.org/megatron",
  "targets": [
    {
      "name": "1.0",
      "title": "v1.0",
      "kind": "release",
      "state": "fine",
      "reason": "",
      "as-of": "1.0",
      "date": "2026-01-01",
      "commit": null,
      "tag": "core_v1.0",
      "yanked": null,
      "listed": true,
      "moved": false,
      "fingerprint": "38abbfaddf682ce2",
      "new": true,
      "patches": [
        {
          "name": "first",
          "state": "fine",
          "verdict": "recorded",
          "reason": "",
          "base": null,
          "variant": "v1.0.patch",
          "groups": [
            {
              "name": "plumbing",
              "state": "fine",
              "verdict": "carried",
              "hunks": [
                "grads-region",
                "notes-colour"
              ],
              "upstream": ""
            }
          ],
          "hunks": [
            {
              "id": "grads-region",
              "group": "plumbing",
              "path": "megatron/core/buffer.py",
              "state": "fine",
              "verdict": "exact",
              "intent": "Allocate in the region.",
              "reason": "",
              "old": {
                "scope": "Buffer.__init__",
                "first": 8,
                "last": 14
              },
              "new": {
                "scope": "Buffer.__init__",
                "first": 8,
                "last": 15
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/buffer.py\n+++ b/megatron/core/buffer.py\n@@ -8,7 +8,8 @@ grads-region\n         self.size = size\n         self.kind = kind\n \n-        self.grads = make(size)\n+        with region():\n+            self.grads = make(size)\n \n     def reload(self):\n         \"\"\"Make it anew.\"\"\"\n",
              "conflicts": []
            },
            {
              "id": "notes-colour",
              "group": "plumbing",
              "path": "megatron/core/notes.md",
              "state": "fine",
              "verdict": "exact",
              "intent": "Another colour.",
              "reason": "",
              "old": {
                "scope": "<module>",
                "first": 1,
                "last": 5
              },
              "new": {
                "scope": "<module>",
                "first": 1,
                "last": 5
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/notes.md\n+++ b/megatron/core/notes.md\n@@ -1,5 +1,5 @@ notes-colour\n name: buffer\n-colour: red\n+colour: green\n weight: 1\n \n shape: round\n",
              "conflicts": []
            }
          ],
          "checks": [
            {
              "patch": "first",
              "id": "grads-in-region",
              "ok": true,
              "expected": 1,
              "found": 1,
              "at": [
                "megatron/core/buffer.py:11"
              ],
              "intent": "Something lies outside the region."
            }
          ],
          "alarms": [],
          "review": [],
          "provisional": false,
          "next": ""
        },
        {
          "name": "second",
          "state": "fine",
          "verdict": "recorded",
          "reason": "",
          "base": null,
          "variant": "v1.0.patch",
          "groups": [
            {
              "name": "plumbing",
              "state": "fine",
              "verdict": "carried",
              "hunks": [
                "reload-mark",
                "notes-end"
              ],
              "upstream": ""
            }
          ],
          "hunks": [
            {
              "id": "reload-mark",
              "group": "plumbing",
              "path": "megatron/core/buffer.py",
              "state": "fine",
              "verdict": "exact",
              "intent": "Leave a mark.",
              "reason": "",
              "old": {
                "scope": "Buffer.reload",
                "first": 15,
                "last": 20
              },
              "new": {
                "scope": "Buffer.reload",
                "first": 15,
                "last": 21
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/buffer.py\n+++ b/megatron/core/buffer.py\n@@ -15,6 +15,7 @@ reload-mark\n         \"\"\"Make it anew.\"\"\"\n         size = self.size\n         self.grads = make(size)\n+        self.marked = True\n \n \n def make(size):\n",
              "conflicts": []
            },
            {
              "id": "notes-end",
              "group": "plumbing",
              "path": "megatron/core/notes.md",
              "state": "fine",
              "verdict": "exact",
              "intent": "Another end.",
              "reason": "",
              "old": {
                "scope": "<module>",
                "first": 7,
                "last": 10
              },
              "new": {
                "scope": "<module>",
                "first": 7,
                "last": 10
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/notes.md\n+++ b/megatron/core/notes.md\n@@ -7,4 +7,4 @@ notes-end\n width: 3\n depth: 4\n \n-end: here\n+end: there\n",
              "conflicts": []
            }
          ],
          "checks": [],
          "alarms": [],
          "review": [],
          "provisional": false,
          "next": ""
        }
      ],
      "problems": [],
      "next": ""
    },
    {
      "name": "2.0",
      "title": "v2.0",
      "kind": "release",
      "state": "fine",
      "reason": "",
      "as-of": "2.0",
      "date": "2026-01-01",
      "commit": null,
      "tag": "core_v2.0",
      "yanked": null,
      "listed": true,
      "moved": false,
      "fingerprint": "5954cd7e5c1b9daa",
      "new": true,
      "patches": [
        {
          "name": "first",
          "state": "fine",
          "verdict": "carries",
          "reason": "",
          "base": "1.0",
          "variant": "v1.0.patch",
          "groups": [
            {
              "name": "plumbing",
              "state": "fine",
              "verdict": "carried",
              "hunks": [
                "grads-region",
                "notes-colour"
              ],
              "upstream": ""
            }
          ],
          "hunks": [
            {
              "id": "grads-region",
              "group": "plumbing",
              "path": "megatron/core/buffer.py",
              "state": "fine",
              "verdict": "moved",
              "intent": "Allocate in the region.",
              "reason": "the same lines stand +2 lines away",
              "old": {
                "scope": "Buffer.__init__",
                "first": 11,
                "last": 11
              },
              "new": {
                "scope": "Buffer.__init__",
                "first": 13,
                "last": 14
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/buffer.py\n+++ b/megatron/core/buffer.py\n@@ -8,7 +8,8 @@ grads-region\n         self.size = size\n         self.kind = kind\n \n-        self.grads = make(size)\n+        with region():\n+            self.grads = make(size)\n \n     def reload(self):\n         \"\"\"Make it anew.\"\"\"\n",
              "conflicts": []
            },
            {
              "id": "notes-colour",
              "group": "plumbing",
              "path": "megatron/core/notes.md",
              "state": "fine",
              "verdict": "exact",
              "intent": "Another colour.",
              "reason": "the target has the same lines at the same place",
              "old": {
                "scope": "<module>",
                "first": 2,
                "last": 2
              },
              "new": {
                "scope": "<module>",
                "first": 2,
                "last": 2
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/notes.md\n+++ b/megatron/core/notes.md\n@@ -1,5 +1,5 @@ notes-colour\n name: buffer\n-colour: red\n+colour: green\n weight: 1\n \n shape: round\n",
              "conflicts": []
            }
          ],
          "checks": [
            {
              "patch": "first",
              "id": "grads-in-region",
              "ok": true,
              "expected": 1,
              "found": 1,
              "at": [
                "megatron/core/buffer.py:13"
              ],
              "intent": "Something lies outside the region."
            }
          ],
          "alarms": [],
          "review": [],
          "provisional": false,
          "next": ""
        },
        {
          "name": "second",
          "state": "fine",
          "verdict": "carries",
          "reason": "",
          "base": "1.0",
          "variant": "v1.0.patch",
          "groups": [
            {
              "name": "plumbing",
              "state": "fine",
              "verdict": "carried",
              "hunks": [
                "reload-mark",
                "notes-end"
              ],
              "upstream": ""
            }
          ],
          "hunks": [
            {
              "id": "reload-mark",
              "group": "plumbing",
              "path": "megatron/core/buffer.py",
              "state": "fine",
              "verdict": "moved",
              "intent": "Leave a mark.",
              "reason": "the same lines stand +2 lines away",
              "old": {
                "scope": "Buffer.reload",
                "first": 18,
                "last": 17
              },
              "new": {
                "scope": "Buffer.reload",
                "first": 20,
                "last": 20
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/buffer.py\n+++ b/megatron/core/buffer.py\n@@ -15,6 +15,7 @@ reload-mark\n         \"\"\"Make it anew.\"\"\"\n         size = self.size\n         self.grads = make(size)\n+        self.marked = True\n \n \n def make(size):\n",
              "conflicts": []
            },
            {
              "id": "notes-end",
              "group": "plumbing",
              "path": "megatron/core/notes.md",
              "state": "fine",
              "verdict": "exact",
              "intent": "Another end.",
              "reason": "the target has the same lines at the same place",
              "old": {
                "scope": "<module>",
                "first": 10,
                "last": 10
              },
              "new": {
                "scope": "<module>",
                "first": 10,
                "last": 10
              },
              "drift": [],
              "alarms": [],
              "review": [],
              "commits": [],
              "drop-when": "",
              "next": "",
              "diff": "--- a/megatron/core/notes.md\n+++ b/megatron/core/notes.md\n@@ -7,4 +7,4 @@ notes-end\n width: 3\n depth: 4\n \n-end: here\n+end: there\n",
              "conflicts": []
            }
          ],
          "checks": [],
          "alarms": [],
          "review": [],
          "provisional": false,
          "next": ""
        }
      ],
      "problems": [],
      "next": "nothing to decide: `patchkit rebase --onto v2.0 --patches /tmp/pytest-of-root/pytest-519/test_a_report_goes_to_a_file_o0/world/patches/megatron` writes the variants"
    }
  ],
  "found": [],
  "problems": [],
  "notes": [],
  "written": []
}
