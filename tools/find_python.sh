#!/bin/sh
# Print the first Python on the PATH that is new enough and can make virtual environments.

for name in python3.12 python3.11 python3.13 python3.14 python3 python; do
    # Run it: a shim may be on the PATH for a version that is not installed.
    if "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        echo "$name"
        exit 0
    fi
done
cat >&2 <<'TEXT'
No Python 3.11 or newer with the venv module was found on the PATH. Install it with one of:

  Debian, Ubuntu   sudo apt-get update && sudo apt-get install -y python3 python3-venv
  Fedora           sudo dnf install -y python3
  macOS            brew install python@3.12

Or name one yourself: make install PYTHON=/path/to/python3.12
TEXT
exit 1
