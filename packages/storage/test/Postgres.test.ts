import { it } from "@effect/vitest"
import * as Postgres from "@skein/storage/Postgres"
import { sessionStorageSuite } from "@skein/testing/SessionStorageSuite"
import { afterAll } from "vitest"
import { schemaOf, startServer } from "./support/postgres.ts"

const server = await startServer()

if (typeof server === "string") {
  it.skip(server, () => undefined)
} else {
  afterAll(server.remove)

  sessionStorageSuite({
    name: "PostgreSQL",
    layer: (directory) => Postgres.layer({ url: server.url(), schema: schemaOf(directory) }),
    lasts: true
  })
}
