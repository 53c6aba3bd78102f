# Sourced by the scripts beside it: makes .venv in the clone and installs milpcb into it, wheels only.
# Safe to run twice: nothing is done while pyproject.toml is the one that was installed.

say() { printf '\033[1m==> %s\033[0m\n' "$*"; }
die() { printf 'milpcb: %s\n' "$*" >&2; exit 2; }

find_python() {
    for candidate in "${PYTHON:-}" python3 python3.14 python3.13 python3.12 python3.11 python; do
        [ -n "$candidate" ] && command -v "$candidate" >/dev/null 2>&1 || continue
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s\n' "$candidate"
            return
        fi
    done
    die "needs Python 3.11 or newer on PATH; install one, or name it: PYTHON=/path/to/python3.12 $0"
}

# install WHAT: install the clone, "." or with extras, and what it needs.
install() {
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-compile -e "$1" ||
        die "pip could not install the packages that pyproject.toml names; read its message above"
}

# prepare EXTRA [COMMAND]: install the clone with the named extra and put .venv/bin on PATH. While pip, which works on one
# core, installs the extra, COMMAND runs beside it: milpcb and what it needs to be imported are there then.
prepare() {
    stamp=.venv/installed-$1
    if [ ! -x .venv/bin/python ] || ! .venv/bin/python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$(find_python) || exit 2
        say "making .venv with $("$python" --version)"
        rm -rf .venv
        "$python" -m venv .venv || die "this Python has no working venv module (on Debian and Ubuntu: apt install python3-venv)"
    fi
    PATH="$PWD/.venv/bin:$PATH"
    export PATH
    if ! cmp -s pyproject.toml "$stamp"; then
        say "installing milpcb[$1] and what it needs into .venv (wheels only, about a minute)"
        install .
        "${2:-true}" &
        install ".[$1]"
        # What pip would do on one core; the tests of packages and what is seldom imported are left out. Packages hold
        # templates that are no Python: that is not our matter.
        python -m compileall -q -j 0 -x 'site-packages/(.*/tests?|pip|fontTools|statsmodels)/' .venv/lib >/dev/null 2>&1 || true
        wait
        cp pyproject.toml "$stamp"
    fi
}
