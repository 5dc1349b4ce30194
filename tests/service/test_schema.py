"""What OpenAPI says of the service is what it does: requests that are drawn from it, good and bad ones."""

import warnings

import hypothesis
import pytest
import schemathesis
from hypothesis import HealthCheck
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from brigand.service import keys
from brigand.service.app import create_app
from service.common import Served, made
from strength import runs

CHECKS = (
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
)
NAME = "drawn"


@pytest.fixture(scope="module")
def app(url):
    return create_app(url)


@pytest.fixture(scope="module")
def service(url, app):
    with Served(app, keys.create(url, "admin")) as found:
        made(found, NAME, holdout=0.5)
        decision = found("POST", f"/v1/bandits/{NAME}/ask").json()
        found("POST", f"/v1/bandits/{NAME}/tell", json={"id": decision["id"], "reward": 1.0})
        yield found


@pytest.fixture(scope="module")
def schema(app):
    return schemathesis.openapi.from_dict(app.openapi())


def operations():
    """Yield method and path of each route with good requests, and bad ones if anything can be wrong."""
    app = create_app(None, auth=False)
    for found in schemathesis.openapi.from_dict(app.openapi()).get_all_operations():
        name = f"{found.ok().method.upper()} {found.ok().path}"
        yield pytest.param(name, GenerationMode.POSITIVE, id=f"{name} good")
        if name not in ("GET /healthz", "GET /readyz", "GET /metrics"):
            yield pytest.param(name, GenerationMode.NEGATIVE, id=f"{name} bad")


@pytest.mark.parametrize(("operation", "mode"), list(operations()))
def test_requests_that_are_drawn_get_documented_answers(service, schema, operation, mode):
    method, _, path = operation.partition(" ")
    strategy = schema[path][method].as_strategy(generation_mode=mode)

    @hypothesis.settings(
        max_examples=runs(4, 80), deadline=None, suppress_health_check=list(HealthCheck), database=None
    )
    @hypothesis.given(case=strategy, here=hypothesis.strategies.booleans())
    def check(case: Case, here: bool) -> None:
        if here and "name" in (case.path_parameters or {}):
            if method == "DELETE" and path.endswith("{name}"):
                return  # the others need it
            case.path_parameters["name"] = NAME
        given = case.as_transport_kwargs(base_url="http://localhost")
        headers = {**given["headers"], "Authorization": f"Bearer {service.key}"}
        options = {key: given[key] for key in ("params", "json", "data", "content") if given.get(key)}
        answer = service(given["method"], given["url"], headers=headers, **options)
        answer.request.read()
        case.validate_response(schemathesis.Response.from_httpx(answer, verify=False), checks=list(CHECKS))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check()
    if path.endswith("/end"):  # which is for good
        service("DELETE", f"/v1/bandits/{NAME}")
        made(service, NAME, holdout=0.5)
