"""The application: all routers put together behind one gate."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from streamgauge.gauge import Gauge
from streamgauge.server import (
    about,
    alerts,
    answers,
    audit,
    board,
    editing,
    health,
    live,
    outlook,
    page,
    queries,
    sinks,
    statements,
    streams,
)
from streamgauge.server.access import Gate, Keys, roles_of
from streamgauge.server.desk import Desk
from streamgauge.server.feed import Feed
from streamgauge.server.figures import Figures
from streamgauge.server.owner_token import owner_token
from streamgauge.server.problems import DESCRIBED, SCHEMA, Problems
from streamgauge.server.prometheus import router as metrics_router
from streamgauge.server.push import router as push_router
from streamgauge.server.settings import Settings
from streamgauge.server.story import Story
from streamgauge.server.story import router as story_router

VERSION = "1"
# Routes are tried in their order, and rows come most often.
ROUTERS = (
    push_router,
    streams.router,
    queries.router,
    board.router,
    outlook.router,
    answers.router,
    live.router,
    statements.router,
    alerts.router,
    sinks.router,
    audit.router,
    editing.router,
    about.router,
)
OPEN_ROUTERS = (health.router, metrics_router, page.router)
ABOUT = """Standing queries over streams, each answer with its bar.

Changes are acknowledged when they are on disk; they are in force from the next epoch on, which
`status` shows. Names in paths are percent-encoded, a slash too."""


def make_app(gauge: Gauge, settings: Settings | None = None, story: Story | None = None) -> FastAPI:
    """The application that serves a gauge.

    Parameters
    ----------
    gauge
        A gauge that runs, or one on a home whose job runs elsewhere.
    settings
        Limits and tokens; those of loopback and the token of the home when None.
    story
        A guided story to tell; its routes are there only with one.
    """
    settings = settings or Settings()
    problems = Problems(gauge.home)
    app = FastAPI(
        title="Streamgauge",
        version=VERSION,
        description=ABOUT,
        openapi_url="/v1/openapi.json",
        # Their pages load scripts from other sites.
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        responses=DESCRIBED,
    )
    app.state.gauge = gauge
    app.state.settings = settings
    app.state.desk = Desk(gauge, settings, problems)
    app.state.board = board.Board(app.state.desk)
    app.state.feed = Feed(gauge.home, behind=settings.behind)
    app.state.figures = Figures(gauge, settings.clock)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router, prefix="/v1")
    app.state.story = story
    if story is not None:
        app.include_router(story_router, prefix="/v1")
    for router in OPEN_ROUTERS:
        app.include_router(router)
    # Only a server without a file of tokens has one of its own.
    app.state.token = None if settings.tokens is not None else owner_token(gauge.home.root)
    keys = Keys.read(settings.tokens) if settings.tokens else Keys.owner(app.state.token)
    told = [] if story is None else [story_router]
    roles = [found for one in (*ROUTERS, *told) for found in roles_of(one.routes, "/v1")]
    app.add_middleware(Gate, settings=settings, keys=keys, problems=problems, roles=roles)
    _describe_problems(app)
    return app


def _describe_problems(app: FastAPI) -> None:
    """Add the shape of errors to the description, in place of the framework's own."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = made()
            schemas = described.setdefault("components", {}).setdefault("schemas", {})
            schemas["Problem"] = SCHEMA
            for operations in described["paths"].values():
                for operation in operations.values():
                    operation["responses"].pop("422", None)
            for name in ("HTTPValidationError", "ValidationError"):
                schemas.pop(name, None)
        found = app.openapi_schema
        assert found is not None
        return found

    app.openapi = openapi  # type: ignore[method-assign]
