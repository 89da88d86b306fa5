/** MCP servers in a program on Node: as child processes, or over HTTP, without anything to set up. */
import type { McpServerConfig } from "@skein/domain/McpConfig"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import * as process from "node:process"
import type { LaunchOptions, McpHost } from "./McpHost.ts"
import { McpServers } from "./McpServers.ts"

/** How long a server may take to end once its input is closed. */
const grace = "500 millis"

/** What a program needs in order to start. Keys of models and other secrets of this process are not passed on. */
const needed = ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER"]

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(-pid, 0)
  } catch {
    return false
  }
}

const launch = ({ command: [program, ...words], directory, environment }: LaunchOptions) =>
  Effect.acquireRelease(
    Effect.map(Deferred.make<string>(), (ended) => {
      const base = Object.fromEntries(needed.flatMap((name) => {
        const value = process.env[name]
        return value === undefined ? [] : [[name, value]]
      }))
      // In a group of its own, so that what it starts ends with it.
      const child = spawn(program, words, { cwd: directory, env: { ...base, ...environment }, detached: true })
      child.stdin.on("error", () => {})
      child.once("error", (error) => Deferred.unsafeDone(ended, Effect.succeed(error.message)))
      child.once("exit", (code, signal) => Deferred.unsafeDone(ended, Effect.succeed(`exit code ${code ?? signal}`)))
      const { pid, stderr, stdin, stdout } = child
      return { pid, stdin, stdout, stderr, ended: Deferred.await(ended) }
    }),
    ({ ended, pid, stdin }) =>
      Effect.suspend(() => {
        stdin.end()
        const kill = Effect.sync(() => pid !== undefined && isAlive(pid) && process.kill(-pid, "SIGKILL"))
        // By real time, because a process does not wait for the clock of a test.
        return Effect.zipRight(
          Effect.withClock(Effect.timeoutOption(Effect.interruptible(ended), grace), Clock.make()),
          kill
        )
      })
  )

/** This machine, as servers need it: logins last as long as the process, and config may name any file. */
export const host = (more: Partial<McpHost> = {}): McpHost => {
  const kept = new Map<string, string>()
  return {
    version: "0.1.0",
    variables: process.env,
    readText: (path) => Effect.tryPromise({ try: () => readFile(path, "utf8"), catch: (error) => error as Error }),
    hide: () => {},
    redact: (text) => text,
    fetch: globalThis.fetch,
    fetchPublic: (url, init) =>
      new URL(url).protocol === "https:"
        ? globalThis.fetch(url, { ...init, redirect: "error" })
        : Promise.reject(new Error(`${String(url)} does not begin with https:`)),
    credentials: {
      read: (url) => Effect.sync(() => kept.get(url)),
      write: (url, text) => Effect.sync(() => void kept.set(url, text)),
      remove: (url) => Effect.sync(() => void kept.delete(url))
    },
    remember: () => () => undefined,
    launch,
    ...more
  }
}

/** The tools of these servers, by their names: for `Skein.layer({ toolSource })`. */
export const node = (
  servers: Readonly<Record<string, McpServerConfig>>,
  { directory = process.cwd() }: { readonly directory?: string } = {}
) =>
  Effect.flatMap(
    Layer.build(McpServers.layer(host())),
    (context) => Effect.provide(Effect.flatMap(McpServers, ({ open }) => open({ directory, servers })), context)
  )
