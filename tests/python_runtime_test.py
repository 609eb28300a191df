"""The interpreter of every Python target sees what the target declares and nothing that the machine has installed."""

import site
import sys


def test_search_path_has_nothing_of_the_machine() -> None:
    foreign = [p for p in sys.path if "dist-packages" in p or "/.local/" in p or p.startswith("/usr/local")]
    assert not foreign


def test_user_site_packages_are_off() -> None:
    assert site.ENABLE_USER_SITE is False


def test_interpreter_is_the_declared_one() -> None:
    assert "python_3_11" in sys.executable
    assert sys.version_info[:2] in ((3, 11), (3, 12))
