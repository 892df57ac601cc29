"""Print what roc-validator finds in crates, required or recommended; runs in the environment that .ci/run makes for it.

    python validate_crates.py FOLDER ...

Nothing is fetched: the one JSON-LD context that a crate names is answered with that of the package `rocrate`, a later
version, which has the same terms.
"""

import sys
from importlib.resources import files

import requests
from rocrate_validator import models, services
from rocrate_validator.utils.http import HttpRequester

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def answer(self, url, **options):
    """Return the context; everything else is not found, and then the validator says so."""
    response = requests.Response()
    response.url, response.status_code = url, 200 if url == CONTEXT else 404
    response.headers["Content-Type"] = "application/ld+json"
    response._content = (files("rocrate") / "data" / "ro-crate.jsonld").read_bytes() if url == CONTEXT else b""
    return response


HttpRequester.get = HttpRequester.head = answer
for folder in sys.argv[1:]:
    settings = services.ValidationSettings(
        rocrate_uri=folder,
        profile_identifier="process-run-crate-0.5",
        requirement_severity=models.Severity.RECOMMENDED,
    )
    result = services.validate(settings)
    for issue in result.get_issues():
        print(f"{folder}: {issue.severity.name} {issue.check.identifier}: {issue.message} ({issue.violatingEntity})")
    print(f"{folder}: {len(result.get_issues())} issues")
