"""Recordings for backtests from the page: upload a file in pieces, import it, see what was rejected and why, or have an
example made. The work itself is a process of low priority."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response
from typing_extensions import TypedDict

from market.money import text_of
from ui.api.apps.app_requests import body_of, body_schema
from ui.apps.dry_runs import MOST_WAITING, DryRuns, DryRunsFullError
from ui.http.problems import PROBLEM_RESPONSE, ProblemError
from ui.http.route_auth import Operator, Uploader
from ui.rows.attribute import row_from
from ui.runs.recording_asks import IMPORT_FORMATS, RecordingAsk, UploadAsk
from ui.runs.uploads import PIECE_BYTES, NoUploadError, Upload, UploadError, Uploads
from ui.services.change_audit import auditing
from ui.services.dashboard import Dashboard, dashboard_of

router = APIRouter(prefix="/recordings", tags=["backtests"])

ASKED: dict[int | str, dict[str, Any]] = dict.fromkeys((401, 403, 404, 409, 422), PROBLEM_RESPONSE)
UPLOAD_EXAMPLE = {"name": "binance_quotes_2024-08-09_BTCUSDT.csv.gz", "size": 1_250_000}
ASK_EXAMPLE = {"work": "import", "upload_id": "0" * 32, "set": "august", "format": "auto"}


class UploadRow(TypedDict):
    """`received` of `size` bytes are there; the next piece begins there, and has at most `piece_bytes`."""

    upload_id: str
    name: str
    size: int
    received: int
    piece_bytes: int


@router.get("/formats")
async def formats(_: Request) -> list[str]:
    """Return the formats that can be imported; `auto` recognises most of them."""
    return ["auto", *IMPORT_FORMATS]


@router.post("/uploads", status_code=201, responses=ASKED, openapi_extra=body_schema(UploadAsk, UPLOAD_EXAMPLE))
async def begin_upload(request: Request, caller: Operator) -> UploadRow:
    """Make room for a file, which comes in pieces then. It is kept for a day, or until it is imported. 409: it is too
    large, there is no room, or too many wait."""
    asked = await body_of(request, UploadAsk, "`name` and `size`")
    async with auditing(dashboard_of(request.app), caller, "recording.upload", asked.name) as note:
        note.after = {"bytes": asked.size}
        try:
            return _row(await asyncio.to_thread(_uploads(request).begin, asked.name, asked.size))
        except UploadError as error:
            raise ProblemError(409, str(error)) from None


@router.put("/uploads/{upload_id}", responses=ASKED)
async def add_piece(
    request: Request, upload_id: str, _: Uploader, offset: Annotated[int, Query(ge=0, le=2**53)]
) -> UploadRow:
    """Add a piece, raw, behind those that are there; sent again it changes nothing. 409: it does not begin where the
    last one ended."""
    piece = await request.body()
    try:
        return _row(await asyncio.to_thread(_uploads(request).add, upload_id, offset, piece))
    except NoUploadError as error:
        raise ProblemError(404, str(error)) from None
    except UploadError as error:
        raise ProblemError(409, str(error)) from None


@router.post("/jobs", status_code=202, responses=ASKED, openapi_extra=body_schema(RecordingAsk, ASK_EXAMPLE))
async def ask(request: Request, caller: Operator) -> JSONResponse:
    """Queue an import, a look at a tick set, or the making of the example. They run one at a time, at lower priority
    than trading. 409: too many are queued."""
    dashboard = dashboard_of(request.app)
    asked = await body_of(request, RecordingAsk, "`work`")
    async with auditing(dashboard, caller, f"recording.{asked.work}", asked.set or "example") as note:
        note.after = asked.model_dump(mode="json", exclude_defaults=True, exclude={"mapping"})
        wanted = {**asked.model_dump(mode="json"), **await _known(request, dashboard, asked)}
        try:
            job = _jobs(request).ask(wanted, caller.name)
        except DryRunsFullError:
            raise ProblemError(409, f"Not queued: {MOST_WAITING} are already queued.") from None
    return JSONResponse(job, 202, headers={"Location": f"/api/recordings/jobs/{job['id']}"})


@router.get("/jobs/{job_id}", responses={404: PROBLEM_RESPONSE})
async def job(request: Request, job_id: str) -> dict[str, Any]:
    """Return the state; once it is done, what the tick set has in it: markets, files, rejected rows by reason with the
    first of each, and what keeps a backtest from it."""
    try:
        return _jobs(request).view(job_id)
    except KeyError:
        raise _unknown(job_id) from None


@router.delete("/jobs/{job_id}", status_code=202, responses={**ASKED, 204: {"description": "Removed"}})
async def end(request: Request, job_id: str, caller: Operator) -> Response:
    """Cancel one that waits or runs (202, with its state); forget one that has ended (204)."""
    async with auditing(dashboard_of(request.app), caller, "recording.end", job_id):
        try:
            ended = await _jobs(request).end(job_id)
        except KeyError:
            raise _unknown(job_id) from None
    return Response(status_code=204) if ended is None else JSONResponse(ended, 202)


async def _known(request: Request, dashboard: Dashboard, asked: RecordingAsk) -> dict[str, object]:
    """Return what the process needs beside what was asked. Raises ProblemError: no name that is asked for becomes a
    path as it is."""
    found: dict[str, object] = {"home": str(dashboard.session.data_home)}
    if asked.work == "look":
        await check_known(dashboard, str(asked.set))
    if asked.work == "import":
        try:
            found["file"] = str(await asyncio.to_thread(_uploads(request).whole, str(asked.upload_id)))
        except NoUploadError as error:
            raise ProblemError(404, str(error)) from None
        except UploadError as error:
            raise ProblemError(409, str(error)) from None
        found["half_spread_bps"] = "" if asked.half_spread_bps is None else text_of(asked.half_spread_bps)
    return found


async def check_known(dashboard: Dashboard, name: str) -> None:
    """Raise ProblemError 422 for a name that no tick set has, which could be a path."""
    known = [one.name for one in await dashboard.reader.backtests.tick_sets()]
    if name not in known:
        there_are = f"there are {', '.join(known)}" if known else "there is none yet"
        raise ProblemError(422, f"There is no tick set {name[:80]!r}; {there_are}.")


def _row(upload: Upload) -> UploadRow:
    return row_from(UploadRow, upload, piece_bytes=PIECE_BYTES)


def _uploads(request: Request) -> Uploads:
    uploads: Uploads = request.app.state.uploads
    return uploads


def _jobs(request: Request) -> DryRuns:
    jobs: DryRuns = request.app.state.recording_jobs
    return jobs


def _unknown(job_id: str) -> ProblemError:
    return ProblemError(404, f"There is no job {job_id[:40]!r} of recordings.")
