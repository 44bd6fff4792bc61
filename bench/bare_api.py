"""The bare FastAPI endpoint that status queries are held against: it returns the bytes of a file.

python bench/bare_api.py PORT FILE
"""

import sys
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response


def main() -> None:
    content = Path(sys.argv[2]).read_bytes()
    app = FastAPI()

    @app.get("/v1/jobs/{job_id}")
    async def job(job_id: str) -> Response:
        return Response(content, media_type="application/json")

    uvicorn.run(app, port=int(sys.argv[1]), log_config=None, access_log=False, ws="none")


if __name__ == "__main__":
    main()
