#!/bin/sh
# Makes the virtual environment that `make` uses: venv.sh PYTHON DIRECTORY.
# Says in plain words what is missing; installs Debian's venv package only as root.
set -eu
python=$1
venv=$2

say() { printf 'make: %s\n' "$1" >&2; }

if ! command -v "$python" >/dev/null 2>&1; then
    say "there is no $python; poolbench needs Python 3.11 or newer"
    say "on Debian or Ubuntu: apt install python3 python3-venv"
    exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    say "$python is $("$python" -V 2>&1); poolbench needs Python 3.11 or newer"
    say "name another one: make PYTHON=/path/to/python3.12"
    exit 1
fi
# Debian ships `venv` without `ensurepip`, which only fails halfway through.
if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "$python has no venv module: installing python3-venv"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv >/dev/null
    fi
    if ! "$python" -c 'import venv, ensurepip' >/dev/null 2>&1; then
        say "$python cannot make virtual environments: its venv or ensurepip module is missing"
        say "on Debian or Ubuntu: apt install python3-venv"
        exit 1
    fi
fi

"$python" -m venv "$venv"
# Dependency groups need pip 25.1; Debian 12 brings 23.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
