"""The entry of the command line, which is in milpcb.cli and needs the packages of the extra 'studies'."""

import sys

from milpcb.core.surroundings import leave
from milpcb.errors import ExtraMissingError, needs


def main() -> None:
    """Run the command line; where its packages are missing, print one line on it and exit with code 2."""
    leave()
    try:
        with needs("studies", "this command"):
            from milpcb.cli import main as run

            run()
    except ExtraMissingError as error:
        sys.stderr.write(f"milpcb: {error}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
