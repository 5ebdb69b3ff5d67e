"""Random OVSDB requests over a small schema that has a column of every kind."""

import uuid

SCHEMA = {
    "name": "Test",
    "version": "1.2.3",
    "tables": {
        "A": {
            "isRoot": True,
            "indexes": [["name"]],
            "columns": {
                "name": {"type": "string"},
                "number": {"type": {"key": {"type": "integer", "minInteger": -5, "maxInteger": 50}}},
                "real": {"type": "real"},
                "flag": {"type": "boolean"},
                "maybe": {"type": {"key": "string", "min": 0, "max": 1}},
                "maybe_number": {"type": {"key": "integer", "min": 0, "max": 1}},
                "numbers": {"type": {"key": "integer", "min": 0, "max": 4}},
                "colour": {"type": {"key": {"type": "string", "enum": ["set", ["", "red", "green"]]}}},
                "pairs": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
                "counts": {"type": {"key": "string", "value": "integer", "min": 0, "max": "unlimited"}},
                "strong": {"type": {"key": {"type": "uuid", "refTable": "B"}, "min": 0, "max": "unlimited"}},
                "passing": {"type": "string", "ephemeral": True},
                "fixed": {"type": "string", "mutable": False},
            },
        },
        "B": {"columns": {"name": {"type": "string"}, "size": {"type": "integer"}}},
        "W": {
            "isRoot": True,
            "columns": {
                "name": {"type": "string"},
                "weak": {"type": {"key": {"type": "uuid", "refTable": "B", "refType": "weak"},
                                  "min": 0, "max": "unlimited"}},
            },
        },
        "One": {"isRoot": True, "maxRows": 1, "columns": {"value": {"type": "integer"}}},
    },
}  # fmt: skip

TABLE_COLUMNS = {name: sorted(table["columns"]) for name, table in SCHEMA["tables"].items()}
FUNCTIONS = ("==", "!=", "includes", "excludes")
ORDERED = ("<", "<=", ">=", ">")
NOWHERE = str(uuid.UUID(int=0))


class Script:
    """Drives a Pair: its step(client, method, params, id) sends a request to both servers."""

    WORDS = ("", "a", "b", "br0", "grün", "x y")

    def __init__(self, pair, rng):
        self.pair = pair
        self.rng = rng
        self.rows = {"A": [], "B": [], "W": []}  # UUIDs, of which some are gone
        self.monitors = {}  # (client, id) to {table: columns}
        self.waits = 0

    def run(self, steps):
        acts = ((self.transact, 12), (self.transact_weak, 2), (self.monitor, 2), (self.change_condition, 2),
                (self.cancel_monitor, 1), (self.lock, 1), (self.wait, 1), (self.reconnect, 0.3))  # fmt: skip
        names, weights = zip(*acts)
        for _ in range(steps):
            self.rng.choices(names, weights)[0]()

    def client(self):
        return self.rng.choice("abc")

    # Values.

    def word(self):
        return self.rng.choice(self.WORDS)

    def number(self):
        return self.rng.choice((-5, 0, 1, 2, 3, 49, 50))

    def some(self, make, at_most):
        values = []
        for _ in range(self.rng.randint(0, at_most)):
            value = make()
            if value not in values:
                values.append(value)
        return values

    def reference(self):
        known = self.rows["B"][-6:]
        return ["uuid", self.rng.choice(known) if known and self.rng.random() < 0.95 else NOWHERE]

    def value(self, column):
        rng = self.rng
        if column in ("name", "passing", "fixed"):
            return self.word()
        if column in ("number", "size", "value"):
            return self.number()
        if column == "real":
            return rng.choice((0, 1, -0.5, 2.5, 1e10))
        if column == "flag":
            return rng.random() < 0.5
        if column == "colour":
            return rng.choice(("", "red", "green"))
        if column == "maybe":
            return rng.choice((["set", []], self.word(), ["set", [self.word()]]))
        if column == "maybe_number":
            return rng.choice((["set", []], self.number()))
        if column == "numbers":
            return ["set", self.some(self.number, 4)]
        if column in ("pairs", "counts"):
            make = self.word if column == "pairs" else self.number
            return ["map", [[key, make()] for key in self.some(self.word, 4)]]
        return ["set", self.some(self.reference, 3)]

    def wrong(self, column):
        """Not a value of the column. One at a time: which of two is complained of is up to the server."""
        wrongs = [{}, None, ["set", [1, "x"]], ["map", [[1, 2]]], ["uuid", "x"], ["named-uuid", "no"], ["set", 5]]
        wrongs += {"number": [51, -6], "colour": ["blue"], "numbers": [["set", [1, 2, 3, 4, 5]]],
                   "pairs": [["map", [["a", "b"], ["a", "c"]]]], "maybe": [["set", ["a", "b"]]]}.get(column, [])  # fmt: skip
        return self.rng.choice(wrongs)

    # Operations.

    def table(self):
        return self.rng.choices(("A", "B", "One"), (6, 3, 1))[0]

    def row(self, table, at_most=5):
        columns = self.rng.sample(TABLE_COLUMNS[table], self.rng.randint(0, min(at_most, len(TABLE_COLUMNS[table]))))
        row = {column: self.value(column) for column in columns}
        if columns and self.rng.random() < 0.05:
            row[columns[0]] = self.wrong(columns[0])
        return row

    def condition(self, table, columns=None):
        column = self.rng.choice(columns or TABLE_COLUMNS[table])
        ordered = column in ("number", "real", "size", "value", "maybe_number")
        function = self.rng.choice(FUNCTIONS + (ORDERED if ordered else ()))
        # An error in a monitor_cond_change leaves it half applied in ovsdb-server, so there is none.
        value = self.number() if column == "maybe_number" and function in ORDERED else self.value(column)
        return [column, function, value]

    def where(self, table):
        known = self.rows.get(table)
        if known and self.rng.random() < 0.4:
            return [["_uuid", "==", ["uuid", self.rng.choice(known[-8:])]]]
        return [self.condition(table) for _ in range(self.rng.randint(0, 2))]

    def insert(self, table=None):
        table = table or self.table()
        operation = {"op": "insert", "table": table, "row": self.row(table, 8)}
        if table in self.rows:
            operation["uuid"] = str(uuid.UUID(int=self.rng.getrandbits(128), version=4))
            self.rows[table].append(operation["uuid"])
        return operation

    def insert_with_reference(self):
        """A row of B that something refers to, so that it stays."""
        row = {"op": "insert", "table": "B", "uuid-name": "new", "row": self.row("B"),
               "uuid": str(uuid.UUID(int=self.rng.getrandbits(128), version=4))}  # fmt: skip
        self.rows["B"].append(row["uuid"])
        referrer = self.insert("A")
        referrer["row"] = {"name": f"r{self.rng.randint(0, 30)}", "strong": ["named-uuid", "new"]}
        return [row, referrer]

    def mutation(self, table):
        column = self.rng.choice(TABLE_COLUMNS[table])
        if column in ("number", "real", "size", "value", "numbers", "maybe_number"):
            mutator = self.rng.choice(("+=", "-=", "*=", "/=", "%="))
            # ovsdb-server 3.1 dies of a multiplication by 0 (SIGFPE).
            return [column, mutator, self.rng.choice((1, 2, -3) if mutator == "*=" else (0, 1, 2, -3))]
        return [column, self.rng.choice(("insert", "delete")), self.value(column)]

    def operation(self, table=None):
        rng, table = self.rng, table or self.table()
        kind = rng.choices(("insert", "update", "mutate", "delete", "select", "wait", "other", "wrong"),
                           (5, 5, 4, 1, 1, 1, 0.5, 0.3))[0]  # fmt: skip
        if kind == "insert":
            return self.insert(table)
        operation = {"op": kind, "table": table, "where": self.where(table)}
        if kind == "update":
            operation["row"] = self.row(table)
        elif kind == "mutate":
            operation["mutations"] = [self.mutation(table) for _ in range(rng.randint(0, 2))]
        elif kind == "select":
            operation["columns"] = rng.sample(TABLE_COLUMNS[table], 1 if table == "One" else 2)
        elif kind == "wait":
            column = rng.choice(TABLE_COLUMNS[table])
            operation.update(columns=[column], until=rng.choice(("==", "!=")), timeout=0,
                             rows=[{column: self.value(column)} for _ in range(rng.randint(0, 2))])  # fmt: skip
        elif kind == "other":
            return rng.choice(({"op": "abort"}, {"op": "comment", "comment": "c"},
                               {"op": "commit", "durable": False}, {"op": "assert", "lock": "L"}))  # fmt: skip
        elif kind == "wrong":
            return rng.choice(({"op": "insert"}, {"op": "nothing"}, 5, {}, {**operation, "op": "delete", "x": 1},
                               {"op": "update", "table": "Z", "where": [], "row": {}},
                               {"op": "update", "table": table, "where": [], "row": {"zz": 1}},
                               {"op": "delete", "table": table, "where": [["zz", "==", 1]]}))  # fmt: skip
        return operation

    # Steps.

    def transact(self):
        operations = [self.operation() for _ in range(self.rng.choice((1, 1, 1, 2, 3)))]
        if self.rng.random() < 0.3:
            operations = self.insert_with_reference()
        self.pair.step(self.client(), "transact", ["Test", *operations])

    def transact_weak(self):
        """On W alone: ovsdb-server 3.1 leaves weak references to a row that is gone in rows that the same
        transaction changes."""
        self.pair.step(self.client(), "transact", ["Test", self.operation("W")])

    def monitor(self):
        client, method = self.client(), self.rng.choice(("monitor", "monitor_cond", "monitor_cond_since"))
        id = f"m{self.rng.randint(0, 5)}"
        tables = {}
        requests = {}
        for table in self.rng.sample(sorted(TABLE_COLUMNS), self.rng.randint(1, 3)):
            requests[table], tables[table] = self.monitor_request(table, method != "monitor")
        since = [NOWHERE] if method == "monitor_cond_since" else []
        reply = self.pair.step(client, method, ["Test", id, requests, *since])
        if reply["error"] is None:
            self.monitors[client, id] = tables if method != "monitor" else {}

    def monitor_request(self, table, conditional):
        columns = TABLE_COLUMNS[table]
        request = {}
        if self.rng.random() < 0.6:
            columns = self.rng.sample(columns, self.rng.randint(1, len(columns)))
            request["columns"] = columns
        if self.rng.random() < 0.3:
            request["select"] = {kind: self.rng.random() < 0.5
                                 for kind in ("initial", "insert", "delete", "modify")}  # fmt: skip
        if conditional and self.rng.random() < 0.5:
            request["where"] = self.monitor_where(table, columns)
        return [request], columns

    def monitor_where(self, table, columns):
        # Of monitored columns only: ovsdb-server 3.1 crashes at others.
        if self.rng.random() < 0.15:
            return [self.rng.random() < 0.5]
        return [self.condition(table, columns) for _ in range(self.rng.randint(0, 2))]

    def change_condition(self):
        conditional = [key for key, tables in self.monitors.items() if tables]
        if not conditional:
            return
        client, id = self.rng.choice(conditional)
        tables = self.monitors[client, id]
        new_id = f"m{self.rng.randint(0, 5)}"
        if (client, new_id) in self.monitors:
            new_id = id
        changes = {table: [{"where": self.monitor_where(table, tables[table])}]
                   for table in self.rng.sample(sorted(tables), self.rng.randint(1, len(tables)))}  # fmt: skip
        reply = self.pair.step(client, "monitor_cond_change", [id, new_id, changes])
        if reply["error"] is None:
            self.monitors[client, new_id] = self.monitors.pop((client, id))

    def cancel_monitor(self):
        client, id = self.client(), f"m{self.rng.randint(0, 5)}"
        self.pair.step(client, "monitor_cancel", [id])
        self.monitors.pop((client, id), None)

    def lock(self):
        self.pair.step(self.client(), self.rng.choice(("lock", "steal", "unlock")), [self.rng.choice("LM")])

    def wait(self):
        """A transaction that may have to wait, for a number that others set sooner or later. One at a
        time: of two that are set free together, ovsdb-server merges the updates when it has the time.
        """
        if self.pair.unanswered:
            return
        until = {"op": "wait", "table": "One", "where": [], "columns": ["value"],
                 "until": self.rng.choice(("==", "!=")), "rows": [{"value": self.rng.choice((0, 1, 2))}]}  # fmt: skip
        self.waits += 1
        self.pair.step(self.client(), "transact", ["Test", until, self.insert()], id=f"w{self.waits}")

    def reconnect(self):
        client = self.client()
        if client not in self.pair.clients:
            return
        self.monitors = {key: tables for key, tables in self.monitors.items() if key[0] != client}
        self.pair.disconnect(client)
