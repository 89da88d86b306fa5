/** Servers that other people wrote, as published: what a model is told of them. */
import { describe, expect, it } from "@effect/vitest"
import type { ToolContext, ToolSource } from "@skein/core/Tool"
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { open } from "./support/host.ts"

const programOf = (manifest: string): string => join(dirname(fileURLToPath(manifest)), "dist", "index.js")

const everything = programOf(import.meta.resolve("@modelcontextprotocol/server-everything/package.json"))
const filesystem = programOf(import.meta.resolve("@modelcontextprotocol/server-filesystem/package.json"))

const called = (source: ToolSource, name: string, input: object) => {
  const titles: Array<string | undefined> = []
  const context = {
    readsOnly: false,
    report: ({ title }: { readonly title?: string }) => Effect.sync(() => titles.push(title))
  } as unknown as ToolContext
  const tool = source.current().find((each) => each.name === name)
  return tool === undefined
    ? Effect.dieMessage(`there is no tool ${name}`)
    : Effect.map(Effect.either(tool.execute(input, context, undefined)), (result) => ({ result, titles }))
}

const freePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const address = server.address()
    server.close(() => resume(Effect.succeed(typeof address === "object" ? address?.port ?? 0 : 0)))
  })
})

/** The server over HTTP; it says on its standard error that it listens. */
const listening = (transport: "sse" | "streamableHttp") =>
  Effect.flatMap(freePort, (port) =>
    Effect.acquireRelease(
      Effect.async<{ readonly port: number; readonly stop: () => void }>((resume) => {
        const child = spawn(process.execPath, [everything, transport], {
          env: { PATH: process.env["PATH"], PORT: String(port) },
          stdio: ["ignore", "ignore", "pipe"]
        })
        child.stderr.on("data", (bytes: Buffer) => {
          if (/(?:listening|running) on port/.test(bytes.toString())) {
            resume(Effect.succeed({ port, stop: () => void child.kill("SIGKILL") }))
          }
        })
      }),
      ({ stop }) => Effect.sync(stop)
    ))

const servesEverything = (server: Effect.Effect<McpServerConfig>) =>
  Effect.gen(function*() {
    const source = yield* open({ all: { startup_timeout: 60_000, ...yield* server } })
    yield* source.ready
    expect(source.current().map(({ name }) => name)).toContain("mcp_all_get-structured-content")
    expect(yield* called(source, "mcp_all_echo", { message: "hello" })).toMatchObject({
      result: { right: { output: "Echo: hello" } }
    })
    expect(yield* called(source, "mcp_all_get-sum", { a: 2, b: 3 })).toMatchObject({
      result: { right: { output: expect.stringContaining("5") } }
    })
    expect(yield* called(source, "mcp_all_get-tiny-image", {})).toMatchObject({
      result: { right: { attachments: [{ mime: "image/png" }] } }
    })
    const long = yield* called(source, "mcp_all_trigger-long-running-operation", { duration: 0.1, steps: 2 })
    expect(long).toMatchObject({ result: { _tag: "Right" } })
    expect(long.titles).toContainEqual(expect.stringContaining("1/2"))
    // A tool that the server runs as a task only.
    const research = yield* called(source, "mcp_all_simulate-research-query", { topic: "bees" })
    expect(research).toMatchObject({
      result: { right: { output: expect.stringContaining("# Research Report: bees") } }
    })
    expect(research.titles).toContain("all: Simulate Research Query: Gathering sources...")
  })

describe("server-everything", () => {
  it.scopedLive(
    "answers over its standard streams",
    () => servesEverything(Effect.succeed({ command: [process.execPath, everything, "stdio"] })),
    60_000
  )

  it.scopedLive(
    "answers over streamable HTTP",
    () =>
      Effect.flatMap(
        listening("streamableHttp"),
        ({ port }) => servesEverything(Effect.succeed({ url: `http://127.0.0.1:${port}/mcp` }))
      ),
    60_000
  )

  it.scopedLive(
    "answers over HTTP with SSE",
    () =>
      Effect.flatMap(
        listening("sse"),
        ({ port }) => servesEverything(Effect.succeed({ url: `http://127.0.0.1:${port}/sse` }))
      ),
    60_000
  )
})

describe("server-filesystem", () => {
  it.scopedLive("reads and writes in its directory, and says what it marks as read-only", () =>
    Effect.gen(function*() {
      const place = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "skein-mcp-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      writeFileSync(join(place, "a.txt"), "old")
      const source = yield* open({
        files: { command: [process.execPath, filesystem, place], startup_timeout: 60_000 }
      })
      yield* source.ready
      const files = (name: string, input: object) => called(source, `mcp_files_${name}`, input)
      expect(yield* files("read_text_file", { path: join(place, "a.txt") })).toMatchObject({
        result: { right: { output: "old" } }
      })
      yield* files("write_file", { path: join(place, "b.txt"), content: "new" })
      expect(readFileSync(join(place, "b.txt"), "utf8")).toBe("new")
      expect(yield* files("read_text_file", { path: "/etc/passwd" })).toMatchObject({
        result: { left: { kind: "mcp_error", message: expect.stringContaining("denied") } }
      })
      const marks = source.current().map(({ name, opaque }) => [name, opaque])
      expect(marks).toContainEqual(["mcp_files_read_text_file", false])
      expect(marks).toContainEqual(["mcp_files_write_file", true])
    }), 60_000)
})
