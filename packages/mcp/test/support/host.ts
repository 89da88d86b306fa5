/** A machine for MCP servers in tests: programs are started plainly, and counted. */
import { Question } from "@skein/core/Question"
import * as Mcp from "@skein/mcp/Mcp"
import type { McpHost } from "@skein/mcp/McpHost"
import { McpServers, type ProjectServers } from "@skein/mcp/McpServers"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("./server.mjs", import.meta.url))

/** The command of a server that misbehaves in this way. */
export const fake = (how: string): readonly [string, ...ReadonlyArray<string>] => [process.execPath, script, how]

/** A machine, and the processes that were started on it. */
export interface TestHost {
  readonly host: McpHost
  readonly pids: () => ReadonlyArray<number>
  /** What logins gave, by URL. */
  readonly kept: ReadonlyMap<string, string>
}

/** Makes one. */
export const testHost = (more: Partial<McpHost> = {}): TestHost => {
  const pids: Array<number> = []
  const kept = new Map<string, string>()
  const machine = Mcp.host({
    version: "0.0.0",
    variables: {},
    readText: (path) => Effect.fail({ message: `${path} is not there` }),
    fetchPublic: (url) => Promise.reject(new Error(`${String(url)} is not open to everybody`)),
    credentials: {
      read: (url) => Effect.sync(() => kept.get(url)),
      write: (url, text) => Effect.sync(() => void kept.set(url, text)),
      remove: (url) => Effect.sync(() => void kept.delete(url))
    },
    ...more
  })
  const launch: McpHost["launch"] = (options) =>
    Effect.tap(machine.launch(options), ({ pid }) => pid === undefined ? undefined : pids.push(pid))
  return { host: { ...machine, launch }, pids: () => pids, kept }
}

/** The tools of these servers, on such a machine, where Skein cannot ask anyone. */
export const open = (servers: ProjectServers["servers"], machine = testHost(), budget?: number) =>
  Effect.provide(openAsking(servers, machine, budget), Question.layerNobody)

/** The same, where somebody may be asked. */
export const openAsking = (servers: ProjectServers["servers"], { host } = testHost(), budget?: number) =>
  Effect.gen(function*() {
    const context = yield* Layer.build(McpServers.layer(host))
    return yield* Effect.provide(
      Effect.flatMap(McpServers, (service) => service.open({ directory: tmpdir(), servers, budget })),
      context
    )
  })
