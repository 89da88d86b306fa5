import { it } from "@effect/vitest"
import * as Sqlite from "@skein/storage/Sqlite"
import { share } from "@skein/testing/Seeds"
import { agreesWithMemory } from "./support/agreement.ts"

it.effect(
  "SQLite and memory agree after any sequence of commits",
  () => agreesWithMemory(() => Sqlite.layer({ filename: ":memory:" }), share(50)),
  120_000
)
