/**
 * Small projects to survey. Their text is in strings, so that a survey of this repository does not take it for code.
 */
import type { Files } from "./workspace.ts"

/** A file with these lines. */
export const lines = (...all: ReadonlyArray<string>): string => `${all.join("\n")}\n`

const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`

/** A workspace of npm packages: cli -> core -> domain, and a package that only tests import. */
export const monorepo: Files = {
  "README.md": lines(
    "<!-- badges -->",
    "# Acme Rockets",
    "",
    "[![build](https://ci.example/badge.svg)](https://ci.example)",
    "",
    "Launches **rockets** from a [terminal](docs/terminal.md).",
    "Since 1949."
  ),
  "package.json": json({
    name: "acme",
    private: true,
    workspaces: ["packages/*"],
    scripts: { start: "node packages/cli/bin/rocket.js", test: "vitest" }
  }),
  "package-lock.json": json({ name: "acme", lockfileVersion: 3 }),
  "packages/domain/package.json": json({
    name: "@acme/domain",
    description: "What a rocket is.",
    exports: { "./*": "./src/*.ts" }
  }),
  "packages/domain/src/Rocket.ts": lines(
    "/** A rocket. */",
    "import * as Schema from \"effect/Schema\"",
    "import { readFileSync } from \"node:fs\"",
    "export class Rocket extends Schema.Class<Rocket>(\"Rocket\")({}) {}"
  ),
  "packages/core/package.json": json({ name: "@acme/core" }),
  "packages/core/src/Launch.ts": lines(
    "/** Owns the launch. */",
    "import type {",
    "  Rocket",
    "} from \"@acme/domain/Rocket\"",
    "import * as Effect from 'effect/Effect'",
    "import { tick } from \"./internal/clock.ts\"",
    "// FIXME(ann): abort is not safe",
    "export const launchRocket = (rocket: Rocket) => Effect.as(tick, rocket)",
    "export const documentation = \"// TODO: this is text\"",
    "export const address = \"http://TODO\""
  ),
  "packages/core/src/internal/clock.ts": lines(
    "import * as Effect from \"effect/Effect\"",
    "export const tick = Effect.void // TODO: leap seconds",
    "const lazy = () => import(\"@acme/domain/Rocket\")",
    "const text = \"import { no } from 'not-a-package'\""
  ),
  "packages/core/test/Launch.test.ts": lines(
    "import { launchRocket } from \"../src/Launch.ts\"",
    "import { fakeRocket } from \"@acme/testing/Fake\"",
    "import { test } from \"vitest\"",
    "test(\"flies\", () => launchRocket(fakeRocket))"
  ),
  "packages/testing/package.json": json({ name: "@acme/testing", main: "./src/Fake.ts" }),
  "packages/testing/src/Fake.ts": lines(
    "import { Rocket } from \"@acme/domain/Rocket\"",
    "export const fakeRocket = new Rocket()"
  ),
  "packages/cli/package.json": json({ name: "@acme/cli", bin: { rocket: "./bin/rocket.js" } }),
  "packages/cli/bin/rocket.js": lines("#!/usr/bin/env node", "import \"../src/main.ts\""),
  "packages/cli/src/main.ts": lines(
    "import { launchRocket } from \"@acme/core/Launch\"",
    "import * as NodeRuntime from \"@effect/platform-node/NodeRuntime\"",
    "import * as Effect from \"effect/Effect\"",
    "",
    "NodeRuntime.runMain(Effect.succeed(launchRocket))"
  ),
  "docs/terminal.md": lines("# Terminal", "", "TODO: write this down", "", "How to fly.")
}

/** A Python package in `src`, with a command, relative and absolute imports. */
export const python: Files = {
  "pyproject.toml": lines(
    "[build-system]",
    "requires = [\"hatchling\"]",
    "",
    "[project]",
    "name = \"weather\"",
    "description = \"Tells the weather\"",
    "dependencies = [\"requests\"]",
    "",
    "[project.scripts]",
    "weather = \"weather.cli:main\""
  ),
  "README.rst": lines("Weather", "=======", "", "Tells the weather of tomorrow."),
  "src/weather/__init__.py": lines("\"\"\"The weather.\"\"\"", "", "from .models import Report"),
  "src/weather/__main__.py": lines("from weather.cli import main", "", "if __name__ == \"__main__\":", "    main()"),
  "src/weather/cli.py": lines(
    "# Copyright of nobody",
    "",
    "\"\"\"Reads arguments.",
    "",
    "And more.",
    "\"\"\"",
    "import os, sys",
    "from weather.api import client  # the client",
    "from weather.models import Report",
    "",
    "def main():",
    "    \"\"\"from here import there\"\"\"",
    "    return client.fetch(Report, os.environ, sys.argv)"
  ),
  "src/weather/models.py": lines(
    "from dataclasses import dataclass",
    "",
    "@dataclass",
    "class Report:",
    "    text: str  # XXX units?"
  ),
  "src/weather/api/__init__.py": "",
  "src/weather/api/client.py": lines(
    "import requests",
    "from ..models import (",
    "    Report,",
    ")",
    "",
    "# TODO retry",
    "def fetch(report, environ, argv):",
    "    return requests.get(\"https://weather.example\")"
  ),
  "tests/test_cli.py": lines("import pytest", "from weather.cli import main", "", "def test_main():", "    main()")
}

/** A Go module with a command and two internal packages. */
export const go: Files = {
  "go.mod": lines("module example.com/shop", "", "go 1.22", "", "require github.com/lib/pq v1.10.9"),
  "cmd/server/main.go": lines(
    "// Command server sells things.",
    "package main",
    "",
    "import (",
    "\t\"fmt\"",
    "\t\"net/http\"",
    "",
    "\tstorage \"example.com/shop/internal/store\"",
    ")",
    "",
    "func main() {",
    "\tfmt.Println(storage.Open(), http.StatusOK)",
    "}"
  ),
  "internal/store/store.go": lines(
    "// Package store keeps things.",
    "package store",
    "",
    "import (",
    "\t\"database/sql\"",
    "",
    "\t\"example.com/shop/internal/model\"",
    "\t_ \"github.com/lib/pq/oid\"",
    ")",
    "",
    "var tables = []string{",
    "\t\"github.com/not/imported\"",
    "}",
    "",
    "// TODO(bo): close it",
    "func Open() *sql.DB { return model.Nothing(tables) }"
  ),
  "internal/store/store_test.go": lines(
    "package store",
    "",
    "import \"testing\"",
    "",
    "func TestOpen(t *testing.T) {}"
  ),
  "internal/model/model.go": lines(
    "package model",
    "",
    "import \"errors\"",
    "",
    "func Nothing(any) error { return errors.New(\"nothing\") }"
  )
}

/** Files of all kinds in one folder, with difficult names. */
export const mixed: Files = {
  "main.py": lines("import helper", "", "if __name__ == '__main__':", "    helper.run()"),
  "helper.py": lines("# FIXME slow", "def run():", "    pass"),
  "helper.json": json({ not: "the module" }),
  "we:12:ird  name.ts": lines(
    "import { b } from \"./späte datei.ts\"",
    "// TODO: rename: 3: times",
    "export const a = b"
  ),
  "späte datei.ts": lines("export const b = 1"),
  "[id].tsx": lines("import { a } from \"./we:12:ird  name.ts\"", "export const page = a"),
  "run.sh": lines("#!/bin/sh", "# TODO: quote", "echo \"# TODO: no\""),
  "lib/x:3:y.ts": lines("", "// FIXME: 4:5: colons"),
  "lib/z.ts": lines("import \"./x:3:y.ts\""),
  "notes.txt": lines("nothing"),
  "image.png": undefined
}

/** A project of many files, more than a tool shows at once. */
export const large: Files = Object.fromEntries([
  ["package.json", json({ name: "large" })],
  ...["alpha", "beta", "gamma", "delta"].flatMap((folder, at, all) =>
    Array.from({ length: 40 }, (_, index): readonly [string, string] => [
      `src/${folder}/${index % 2 === 0 ? "even/" : ""}file${index}.ts`,
      lines(
        `import { x } from "${index % 2 === 0 ? "../../" : "../"}${all[(at + 1) % 3] ?? ""}/index.ts"`,
        "import * as Effect from \"effect/Effect\"",
        ...(index === 7 ? [`// TODO: fix ${folder}`] : []),
        `export const value${index} = [x, Effect]`
      )
    ])
  )
])
