"""The checks of a server on stdio, as data."""

from __future__ import annotations

from typing import Final

from anywire.doctor.check import Check, Weight, by_weight
from anywire.doctor.era_check import ERA_CHECKS
from anywire.doctor.list_check import LIST_CHECKS

__all__ = ("STDIO_CHECKS",)

_ERROR, _WARNING, _NOTE = Weight.ERROR, Weight.WARNING, Weight.NOTE

_STDERR_ADVICE: Final = (
    "write banners, prints and logs to stderr; in Python give logging and print file=sys.stderr, "
    "in Node use console.error"
)

_OWN: Final = (
    # The start.
    Check(
        "not-started",
        _ERROR,
        "it cannot be started",
        "check the command, its path and --cwd; what stands on your shell's PATH is found only if it stands "
        "on the PATH shown here, too",
    ),
    Check(
        "exits-early",
        _ERROR,
        "it exits before it answers",
        "read its last words; a variable it needs passes with --env NAME, a folder with --cwd",
    ),
    Check(
        "echo",
        _ERROR,
        "it sends our own bytes back",
        "a terminal, `cat` or a wrapper that echoes stands where the server should be; run the server "
        "itself, and without a terminal (docker run -i, not -it)",
    ),
    Check(
        "buffered",
        _ERROR,
        "its answers stay in its output buffer",
        "flush stdout after each message, or turn buffering off: python -u, stdbuf -oL; anywire does that by "
        "itself where a server is Python, other clients do not",
    ),
    Check(
        "no-line-feed",
        _ERROR,
        "it does not end its messages",
        "write a line feed behind each message, and flush: a client takes a line when it is at its end",
    ),
    Check(
        "framing-given",
        _ERROR,
        "it does not frame its messages as was said",
        "leave --framing out, and the wire out of a file of servers: how a server writes is found out",
    ),
    Check(
        "several-lines",
        _ERROR,
        "it spreads one message over several lines",
        "write each message on one line, without indentation",
    ),
    Check(
        "not-utf-8",
        _ERROR,
        "it does not write UTF-8",
        "write UTF-8: Python on Windows writes the code page (PYTHONUTF8=1, or "
        "sys.stdout.reconfigure(encoding='utf-8')); PowerShell turns what passes its pipes into UTF-16: "
        "start the server without it",
    ),
    Check(
        "serves-http",
        _ERROR,
        "it serves HTTP instead of stdio",
        "start it with the argument or the variable that makes it serve stdio; or start it by itself and "
        "give its URL instead of a command",
    ),
    Check(
        "stderr-only",
        _ERROR,
        "it answers nothing and writes on stderr only",
        "read what it wrote: it may wait for something, or send its messages to stderr",
    ),
    Check(
        "no-answer",
        _ERROR,
        "what it writes is no answer",
        "see that it serves MCP on stdio at all; many programs want an argument such as `stdio` or `serve`",
    ),
    Check(
        "silent",
        _ERROR,
        "it runs and says nothing at all",
        "see that it reads stdin and serves MCP on stdio; many programs want an argument such as `stdio`; "
        "one that only starts slowly gets more time with --timeout",
    ),
    Check(
        "initialize-refused",
        _ERROR,
        "it refuses initialize",
        "answer initialize whatever the client's name, capabilities and revision",
    ),
    Check(
        "initialize-result",
        _ERROR,
        "its answer to initialize cannot be used",
        "the result of initialize has protocolVersion, capabilities and serverInfo with name and version",
    ),
    Check(
        "initialize-revision",
        _ERROR,
        "it speaks a revision that there is not",
        "answer initialize with the revision asked for if it is known, and else with a published one",
    ),
    Check(
        "newest-refused",
        _ERROR,
        "it refuses a client of the newest revision",
        "answer initialize with the newest revision the server speaks, also where the client asked for a "
        "newer one: an error leaves the client nothing to agree on",
    ),
    # The conversation.
    Check(
        "exits-later",
        _ERROR,
        "it exits in the middle of the conversation",
        "refuse what the server does not know with an error, and read on",
    ),
    Check(
        "closes-stdout",
        _ERROR,
        "it closes its stdout in the middle of the conversation",
        "keep stdout open as long as the server runs; what must not print gets stderr or /dev/null instead",
    ),
    Check(
        "reads-pieces",
        _ERROR,
        "it takes what arrives together for one message",
        "collect what is read, and take a message at each line feed: how many arrive at once is chance",
    ),
    Check(
        "ids-changed",
        _ERROR,
        "it does not give ids back as they came",
        'copy the id of a request into its answer, with its type: "0" is a string, 0 is not nothing',
    ),
    Check(
        "malformed-fatal",
        _ERROR,
        "one malformed line ends the conversation",
        "answer what cannot be parsed with the error -32700 and read on",
    ),
    Check(
        "bad-message",
        _ERROR,
        "it writes JSON that is no JSON-RPC message",
        'each message is an object with "jsonrpc": "2.0" and exactly one of method, result and error; an '
        "answer has the id; a result is an object, and an error one with an integer code and a message",
    ),
    Check(
        "not-again",
        _WARNING,
        "it does not start a second time",
        "do not leave a lock, a port or a file behind that keeps the next start from working; several "
        "clients may start the server at once",
    ),
    Check(
        "answers-twice",
        _WARNING,
        "it answers a request more than once",
        "give each request one answer",
    ),
    Check("noise", _WARNING, "it writes on stdout what is no message", _STDERR_ADVICE),
    Check(
        "header-framing",
        _WARNING,
        "it frames its messages with Content-Length headers",
        "MCP wants one message a line; until the server does, put `anywire bridge stdio --` before its "
        "command: anywire finds out what a server reads and writes",
    ),
    Check(
        "very-slow-start",
        _WARNING,
        "it takes too long to answer for the first time",
        "many clients give up; answer initialize first and load the rest when it is asked for",
    ),
    Check(
        "ping",
        _WARNING,
        "it does not answer ping",
        "answer ping with an empty object; clients ask to see whether the server lives",
    ),
    Check(
        "answers-notifications",
        _WARNING,
        "it answers notifications",
        "never answer a message without an id, not even with an error",
    ),
    Check(
        "unknown-method",
        _WARNING,
        "it does not refuse a method it does not know",
        "answer an unknown method with the error -32601",
    ),
    Check(
        "probe-fatal",
        _WARNING,
        "a request before initialize ends it",
        "clients of the newest revision ask server/discover first: answer a request you do not know with "
        "-32601, also before initialize",
    ),
    Check(
        "probe-silence",
        _WARNING,
        "it does not answer a request before initialize",
        "clients of the newest revision ask server/discover first and wait for an answer: give -32601",
    ),
    Check(
        "probe-breaks",
        _WARNING,
        "it cannot be initialized after another request",
        "clients of the newest revision ask server/discover first: take initialize after it as well",
    ),
    Check(
        "revision-echoed",
        _WARNING,
        "it agrees to any revision",
        "give back a requested revision only if the server speaks it, and else the newest it speaks",
    ),
    Check(
        "revision-silence",
        _WARNING,
        "it does not answer a client of an unknown revision",
        "answer initialize with the newest revision the server speaks",
    ),
    Check(
        "revision-refused",
        _WARNING,
        "it refuses a client of an unknown revision",
        "answer initialize with the newest revision the server speaks; over HTTP the header "
        "MCP-Protocol-Version counts only after the handshake",
    ),
    Check(
        "long-message",
        _WARNING,
        "it does not take a long message",
        "take messages of some MiB: readers of lines stop at 64 KiB by default (asyncio, Go), parsers of "
        "bodies at 100 kB (Express), and a picture as an argument is longer",
    ),
    Check(
        "bom-written",
        _ERROR,
        "it begins with a byte order mark",
        "write UTF-8 without the bytes EF BB BF: clients that parse the first line as it is never see its "
        "first answer",
    ),
    Check(
        "ignores-eof",
        _WARNING,
        "it does not leave when its input ends",
        "end when stdin ends: a client that is gone cannot end its server in any other way",
    ),
    Check(
        "ignores-term",
        _WARNING,
        "it does not leave on SIGTERM either",
        "let SIGTERM end the server, within a second or two; a client has nothing left but SIGKILL",
    ),
    Check(
        "left-behind",
        _WARNING,
        "it leaves processes behind",
        "end what the server started before it exits, or start it in the server's process group",
    ),
    Check(
        "slow-start",
        _NOTE,
        "it starts slowly",
        "put heavy imports and network connections off until they are needed",
    ),
    Check(
        "unknown-method-code",
        _NOTE,
        "it refuses a method it does not know with another error",
        "answer an unknown method with the error -32601: some clients tell by the code what a server can do",
    ),
    Check(
        "exit-code",
        _NOTE,
        "it ends with an error when its input ends",
        "the end of stdin is the usual end of a server: exit with 0",
    ),
    Check(
        "malformed-unanswered",
        Weight.TRIFLE,
        "it does not say what was wrong with a malformed line",
        "answer what cannot be parsed with the error -32700, so that its client need not wait in vain",
    ),
    Check(
        "big-ids",
        Weight.TRIFLE,
        "it does not give large ids back",
        "copy the id as it was written; 2^53 and more is not safe in JavaScript and in doubles",
    ),
    Check(
        "serialised",
        _NOTE,
        "it answers one request after the other",
        "serve requests at once, so that a long call does not keep the others and ping waiting",
    ),
    Check(
        "crlf",
        _NOTE,
        "it does not read lines that end in CR LF",
        "strip the carriage return: clients on Windows write one",
    ),
    Check(
        "bom",
        Weight.TRIFLE,
        "it does not read a line with a byte order mark",
        "skip the bytes EF BB BF before a message: some clients on Windows write them",
    ),
    Check(
        "stderr-flood",
        _NOTE,
        "it writes a great deal on stderr",
        "a client that does not read stderr blocks the server once the pipe is full; log less by default",
    ),
)

#: Every check on stdio by its id, heaviest first.
STDIO_CHECKS: Final = by_weight(_OWN, LIST_CHECKS, ERA_CHECKS)
