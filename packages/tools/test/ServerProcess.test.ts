import { expect, it } from "@effect/vitest"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import { baseEnvironment, start } from "@skein/tools/ServerProcess"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

it("a server gets what it needs to reach the network, and no secret", () => {
  const passed = {
    PATH: "/bin",
    NODE_EXTRA_CA_CERTS: "/etc/ca.pem",
    SSL_CERT_FILE: "/etc/ca.pem",
    HTTPS_PROXY: "http://proxy.example:3128",
    http_proxy: "proxy.example:3128",
    no_proxy: "localhost,.example"
  }
  const withheld = {
    HTTP_PROXY: "http://me:s3cret@proxy.example:3128",
    ALL_PROXY: "me:s3cret@proxy.example",
    OPENAI_API_KEY: "k",
    OTHER: "x"
  }
  expect(baseEnvironment({ ...passed, ...withheld })).toEqual(passed)
})

it.scopedLive("a server whose directory was removed is not started, and says so", () =>
  Effect.gen(function*() {
    const dataDirectory = mkdtempSync(join(tmpdir(), "skein-server-"))
    yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(dataDirectory, { recursive: true })))
    const directory = join(dataDirectory, "gone")
    const layer = Layer.provide(Processes.layer({ dataDirectory, environment: {} }), NodeOwner.layer)
    const starting = Effect.flatMap(
      Processes,
      (processes) => start(processes, { command: [process.execPath], directory, environment: {} })
    )
    const error = yield* Effect.flip(Effect.provide(starting, layer))
    expect(error.message).toContain(`the directory ${directory} is gone`)
  }))
