"""A server of both eras that does everything right, for others to get one thing wrong."""

from __future__ import annotations

from tests.cli.servers.healthy import Healthy, Json

VERSION = "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


class Stateless(Healthy):
    """Serves requests that say their version as that has it, all others as before."""

    def answer(self, method: str, params: Json) -> Json:
        meta = params.get("_meta", {})
        version = meta.get(PREFIX + "protocolVersion")
        if version is None:
            return super().answer(method, params)
        if version != VERSION:
            return {"error": self.unsupported(version)}
        if PREFIX + "clientCapabilities" not in meta:
            return self.without_capabilities(method)
        return self.serve(method)

    def unsupported(self, version: str) -> Json:
        data = {"supported": [VERSION], "requested": version}
        return {"code": -32022, "message": "Unsupported protocol version", "data": data}

    def without_capabilities(self, method: str) -> Json:
        return {"error": {"code": -32602, "message": "Invalid params"}}

    def serve(self, method: str) -> Json:
        match method:
            case "server/discover":
                return {"result": self.frame(self.discover())}
            case "tools/list":
                return {"result": self.frame({"tools": self.tools})}
            case _:
                return {"error": {"code": -32601, "message": f"Method not found: {method}"}}

    def discover(self) -> Json:
        return {"supportedVersions": [VERSION], "capabilities": self.capabilities}

    def frame(self, result: Json) -> Json:
        """What every result says of itself."""
        info = {"name": type(self).__name__, "version": "1.0"}
        meta = {PREFIX + "serverInfo": info}
        return {**result, "resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": meta}


if __name__ == "__main__":
    Stateless().run()
