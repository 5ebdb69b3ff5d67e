#!/usr/bin/python3
"""Our OVSDB server against Debian's ovsdb-server: the same requests, the same answers.

Each step sends one request to both servers by the client of the same name, and then compares what
every client of the one heard with what its counterpart heard: replies and notifications, up to
UUIDs. OVSDB_SEED=N repeats a random run, OVSDB_STEPS=N sets its length.
"""

import json
import os
import random
import unittest

import harness
from harness import Lab
from ovsdb_peer import Closed, DebianServer, Names, OurServer
from ovsdb_script import NOWHERE, SCHEMA, Script


class Pair:
    """Both servers, and clients by name that are connected to both."""

    def __init__(self, test, ours, debians):
        self.test = test
        self.servers = (ours, debians)
        self.names = (Names(), Names())
        self.clients = {}
        self.steps = []
        self.owned = set()  # (side, client, lock)
        self.asked = {}  # (method, params) by (client, id)
        self.unanswered = set()  # (client, id)
        test.addCleanup(self.close)

    def close(self):
        for clients in self.clients.values():
            for client in clients:
                client.close()

    def connect(self, name):
        if name not in self.clients:
            self.clients[name] = [server.client() for server in self.servers]
        return self.clients[name]

    def disconnect(self, name):
        self.steps.append((name, "disconnect", None))
        for client in self.clients.pop(name):
            client.close()
        self.owned = {owner for owner in self.owned if owner[1] != name}
        self.unanswered = {asked for asked in self.unanswered if asked[0] != name}
        self.compare()

    def step(self, name, method, params, id=None):
        """Sends a request (`method` "cancel": a notification) and compares all that is heard.

        Returns our server's reply, None if it has not come yet.
        """
        self.steps.append((name, method, params))
        sent = None
        for client in self.connect(name):
            if method == "cancel":
                client.notify(method, params)
            else:
                sent = client.send(method, params, id)
                self.asked[name, json.dumps(sent)] = (method, params)
                self.unanswered.add((name, json.dumps(sent)))
        _, replies = self.compare()[name]
        return next((reply for reply in replies if reply["id"] == sent), None)

    def compare(self):
        heard = []
        for side in (0, 1):
            try:
                # Twice: what the first round sets free (locks, waits) is told by the second.
                for client in self.clients.values():
                    client[side].call("echo", [])
                heard.append({n: client[side].settle() for n, client in self.clients.items()})
            except Closed:
                self.fail(f"{('our', 'their')[side]} server ended a connection:\n"
                          + self.servers[side].said()[-2000:])  # fmt: skip
        for side in (0, 1):
            for name, (_, replies) in heard[side].items():
                for reply in replies:
                    self.unanswered.discard((name, json.dumps(reply["id"])))
                    method, params = self.asked.get((name, json.dumps(reply["id"])), (None, None))
                    if method == "transact" and isinstance(reply.get("result"), list):
                        self.names[side].learn(params[1:], reply["result"])
        ours, theirs = (
            {n: self.digest(side, n, *messages) for n, messages in heard[side].items()}
            for side in (0, 1)
        )
        if ours != theirs:
            self.fail(f"ours:   {json.dumps(ours, sort_keys=True)}\n"
                      f"theirs: {json.dumps(theirs, sort_keys=True)}")  # fmt: skip
        return heard[0]

    def digest(self, side, name, notifications, replies):
        plain = self.names[side].plain
        told = []
        for method, params in self.merged(notifications):
            if method in ("locked", "stolen"):
                # ovsdb-server also says "locked" to an owner when another one stops waiting.
                if method == "locked" and (side, name, params[0]) in self.owned:
                    self.test.assertEqual(side, 1, f"{name} is told of {params[0]} twice")
                    continue
                change = self.owned.add if method == "locked" else self.owned.discard
                change((side, name, params[0]))
            if method.startswith("update"):
                updates = self.without_empty(params[-1])
                if not updates:
                    continue
                params = [params[0], updates]
            told.append(json.dumps([method, plain(params)], sort_keys=True))
        answers = []
        for reply in replies:
            self.note_lock(side, name, reply)
            answer = {"id": reply["id"], "result": self.result(plain, reply.get("result")),
                      "error": self.error(reply.get("error"))}  # fmt: skip
            answers.append(json.dumps(answer, sort_keys=True))
        # Monitors of one client are told in any order.
        return sorted(told), sorted(answers)

    @staticmethod
    def merged(notifications):
        """Updates of one monitor in one step, of different rows, as one: a wait that is fulfilled brings two."""
        merged, updates = [], {}
        for method, params in notifications:
            if not method.startswith("update"):
                merged.append((method, params))
                continue
            whole = updates.get(json.dumps(params[0]))
            if whole and not any(uuid in whole.get(t, ()) for t, rows in params[-1].items() for uuid in rows):
                for table, rows in params[-1].items():
                    whole.setdefault(table, {}).update(rows)
            else:
                updates[json.dumps(params[0])] = params[-1]
                merged.append((method, params))
        return merged

    @staticmethod
    def without_empty(updates):
        """ovsdb-server gives a row a new _version when a weak reference comes and is gone at commit."""
        only_version = lambda row: set(row.get("modify", row.get("old", ()))) == {"_version"}
        left = {table: {uuid: row for uuid, row in rows.items() if not only_version(row)}
                for table, rows in updates.items()}  # fmt: skip
        return {table: rows for table, rows in left.items() if rows}

    def note_lock(self, side, name, reply):
        method, params = self.asked.get((name, json.dumps(reply["id"])), (None, None))
        if reply.get("error") is None and method in ("lock", "steal", "unlock"):
            held = method != "unlock" and reply["result"]["locked"]
            (self.owned.add if held else self.owned.discard)((side, name, params[0]))

    @staticmethod
    def result(plain, result):
        if isinstance(result, list) and len(result) == 3 and isinstance(result[0], bool):
            return ["<since>", plain(result[2])]
        if not isinstance(result, list):
            return plain(result)
        operations = []
        for one in result:
            one = plain(one)
            if isinstance(one, dict) and "rows" in one:
                one["rows"].sort(key=lambda row: json.dumps(row, sort_keys=True))
            if isinstance(one, dict) and "error" in one:
                one = Pair.error(one)
            operations.append(one)
        return operations

    @staticmethod
    def error(error):
        """What clients look at: the error's name. The details are for people."""
        return error["error"] if isinstance(error, dict) else error

    def fail(self, text):
        steps = "\n".join(f"  {n} {m} {json.dumps(p)}" for n, m, p in self.steps[-12:])
        self.test.fail(f"after\n{steps}\n{text}")


class Differential(unittest.TestCase):
    def setUp(self):
        harness.require_tool("ovsdb-server", "ovsdb-tool")
        self.lab = Lab()
        self.addCleanup(self.lab.close)
        schema = os.path.join(self.lab.scratch, "test.ovsschema")
        with open(schema, "w", encoding="ascii") as file:
            json.dump(SCHEMA, file)
        self.schema = schema
        self.pair = Pair(self, OurServer(self.lab, schema), DebianServer(self.lab, schema))

    def test_what_is_no_request(self):
        step = self.pair.step
        for method in ("list_dbs", "get_schema", "transact", "monitor_cond_change", "monitor_cancel",
                       "lock", "steal", "unlock", "set_db_change_aware", "convert", "cancelled"):  # fmt: skip
            for params in ([], ["a"], [1], [1, 2, 3, 4]):
                if method in ("lock", "steal") and params == ["a"]:
                    continue
                step("a", method, params)
        for method in ("monitor", "monitor_cond", "monitor_cond_since"):
            for params in ([], ["a"], [1, 2, 3], ["Test", None, 5, None], ["Test", None, {"No": {}}, None]):
                step("a", method, params)

    def test_schemas(self):
        ours, theirs = self.pair.connect("a")
        for name in ("Test", "_Server"):
            self.assertEqual(ours.result("get_schema", [name]), theirs.result("get_schema", [name]))

    def test_errors_of_monitor_requests_in_full(self):
        requests = [{"B": 5}, {"B": [5]}, {"B": {"columns": 5}}, {"B": {"columns": ["zz"]}},
                    {"B": {"columns": [5]}}, {"B": {"columns": ["name", "name"]}},
                    {"B": {"columns": ["name"], "foo": 1}}, {"B": [{"columns": ["name"]}] * 2},
                    {"B": {"select": {"initial": 5}}}, {"B": {"select": {"foo": True}}},
                    {"B": {"select": 5}}, {"Nope": {}}, {"B": {"where": ["x"]}},
                    {"B": {"where": [["size", "==", "x"]]}}, {"B": {"where": [["size", "=", 5]]}},
                    {"B": {"where": True}}, {"B": [{"where": [["zz", "==", 5]]}]}]  # fmt: skip
        for method in ("monitor", "monitor_cond"):
            for request in requests:
                replies = [c.call(method, ["Test", "m", request]) for c in self.pair.connect("a")]
                self.assertEqual(replies[0]["error"], replies[1]["error"], (method, request))

    def test_selected_changes(self):
        step = self.pair.step
        for number, method in enumerate(("monitor", "monitor_cond", "monitor_cond_since")):
            for kind in ("initial", "insert", "delete", "modify"):
                requests = {"A": [{"columns": ["name", "flag"], "select": {kind: False}},
                                  {"columns": ["number"]}]}  # fmt: skip
                since = ["00000000-0000-0000-0000-000000000000"] if number == 2 else []
                step("a", method, ["Test", method + kind, requests, *since])
        insert = {"op": "insert", "table": "A", "row": {"name": "x"}}
        for row in ({"flag": True}, {"number": 3}, {"number": 4, "flag": False}, {"real": 1.5}):
            step("b", "transact", ["Test", insert])
            step("b", "transact", ["Test", {"op": "update", "table": "A", "where": [], "row": row}])
        step("b", "transact", ["Test", {"op": "delete", "table": "A", "where": []}])

    def test_locks(self):
        step = self.pair.step
        script = ("a lock L, b lock L, c lock L, c steal M, b unlock L, d steal L, c unlock L, a unlock L, "
                  "a unlock L, d unlock L, a lock L, a lock L, a steal L, b lock L, c lock M")  # fmt: skip
        for words in script.split(", "):
            client, method, lock = words.split()
            step(client, method, [lock])
            step(client, "transact", ["Test", {"op": "assert", "lock": "L"}])
        self.pair.disconnect("a")
        step("b", "transact", ["Test", {"op": "assert", "lock": "L"}])

    def test_waits(self):
        step = self.pair.step
        wait = {"op": "wait", "table": "One", "where": [], "columns": ["value"], "until": "==",
                "rows": [{"value": 3}]}  # fmt: skip
        set_to = lambda n: ["Test", {"op": "update", "table": "One", "where": [], "row": {"value": n}}]
        step("b", "transact", ["Test", {"op": "insert", "table": "One", "row": {"value": 1}}])
        step("a", "monitor", ["Test", "m", {"One": {}}])
        step("a", "transact", ["Test", {**wait, "timeout": 0}])
        step("a", "transact", ["Test", wait, {"op": "comment", "comment": "x"}], id="w")
        step("a", "transact", ["Test", wait], id="w")
        step("c", "transact", ["Test", {**wait, "until": "!="}, *set_to(2)[1:]])
        step("b", "transact", set_to(3))
        step("c", "transact", ["Test", {**wait, "until": "!="}, *set_to(5)[1:]], id="u")
        step("b", "transact", set_to(4))
        step("b", "transact", ["Test", {**wait, "rows": []}, {**wait, "timeout": 0}], id="v")
        step("b", "transact", ["Test", {"op": "delete", "table": "One", "where": []}])

    def test_random(self):
        seed = int(os.environ.get("OVSDB_SEED", random.SystemRandom().randrange(1 << 32)))
        steps = int(os.environ.get("OVSDB_STEPS", "1500"))
        print(f"OVSDB_SEED={seed} OVSDB_STEPS={steps}", flush=True)
        Script(self.pair, random.Random(seed)).run(steps)

    def test_transaction_ids(self):
        """Against a clustered database, since a standalone one of ovsdb-server has no ids."""
        clustered = DebianServer(self.lab, self.schema, clustered=True)
        stories = [self.story(server) for server in (self.pair.servers[0], clustered)]
        self.assertEqual(*stories)
        self.assertEqual(stories[0][-1][1][0], True, "the last one is known")

    @staticmethod
    def story(server):
        """What a client is told that comes again and again, each time with the id that it had last."""
        def connect(last):
            client = server.client()
            found, last, rows = client.result("monitor_cond_since", ["Test", "m", requests, last])
            told.append(["since", [found, names.plain(rows)]])
            return client, last

        def transact(*operations):
            names.learn(operations, writer.transact(*operations, database="Test"))

        row = lambda name, number=0: {"op": "insert", "table": "A", "row": {"name": name, "number": number}}
        update = lambda number: {"op": "update", "table": "A", "where": [], "row": {"number": number}}
        delete = lambda name: {"op": "delete", "table": "A", "where": [["name", "==", name]]}
        requests = {"A": [{"columns": ["name", "number"], "where": [["number", "<", 40]]}]}
        names, told, writer = Names(), [], server.client()
        # ovsdb-server keeps no more history than it has data.
        writer.transact(*[{"op": "insert", "table": "W", "row": {"name": f"{i}"}} for i in range(300)],
                        database="Test")  # fmt: skip
        transact(row("a"), row("b"))
        client, last = connect(NOWHERE)
        for change in ([row("c")], [update(7)], [delete("b")]):
            transact(*change)
            for method, (_, id, rows) in client.settle()[0]:
                told.append([method, id != last, names.plain(rows)])
                last = id
        client.close()
        connect(last)[0].close()
        transact(row("d"))
        transact(update(45))
        transact(row("e", 3), delete("a"))
        connect(last)[0].close()
        client, last = connect("12345678-1234-1234-1234-123456789abc")
        client.close()
        transact(update(1))
        transact(update(3))
        connect(last)[0].close()
        writer.close()
        return told


if __name__ == "__main__":
    harness.main(time_limit=300)
