/** What a sandboxed command may take of the machine. */
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { describe, expect, it } from "@effect/vitest"
import * as NodeOwner from "@skein/tools/NodeOwner"
import { Processes } from "@skein/tools/Processes"
import type { SandboxOptions } from "@skein/tools/SandboxPlace"
import { Shell } from "@skein/tools/Shell"
import { Watchdog } from "@skein/tools/Watchdog"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import * as path from "node:path"
import { makeWatchdog } from "../src/internal/watchdog/makeWatchdog.ts"
import { layerIn, works, world } from "./support/sandbox.ts"

/** Runs lines, one after the other, with these bounds; without a sandbox if there is no `bwrap` in this PATH. */
const runWith = (
  searched: string | undefined,
  bounds: NonNullable<SandboxOptions["bounds"]>,
  ...lines: ReadonlyArray<string>
) =>
  Effect.gen(function*() {
    const { repo, top } = yield* world
    const processes = Processes.layer({ dataDirectory: path.join(top, "data"), environment: {} })
    // As for `skein run`: it watches what no sandbox holds.
    const watchdog = Layer.scoped(Watchdog, makeWatchdog({ ...bounds, isForStrays: true }))
    const layer = Shell.layer({ environment: { PATH: process.env["PATH"] } }).pipe(
      Layer.provide(
        Layer.mergeAll(
          layerIn(top, { bounds }, searched),
          NodeFileSystem.layer,
          Layer.provide(processes, Layer.merge(NodeOwner.layer, watchdog))
        )
      )
    )
    const ends = yield* Effect.provide(
      Effect.flatMap(Shell, (shell) =>
        Effect.forEach(lines, (command) =>
          shell.run({
            command,
            directory: repo,
            timeout: 60_000,
            spill: Effect.succeed(path.join(top, "spilled")),
            watch: () => Effect.void
          }))),
      layer
    )
    return { ends, repo }
  })

const run = (bounds: NonNullable<SandboxOptions["bounds"]>, ...lines: ReadonlyArray<string>) =>
  runWith(process.env["PATH"], bounds, ...lines)

const crowd = "for i in {1..600}; do sleep 300 & done; wait"

it.scopedLive.skipIf(process.platform !== "linux")(
  "a command without a sandbox is ended by its processes",
  () =>
    Effect.gen(function*() {
      const { ends: [end, next] } = yield* runWith("/nowhere", { processes: 200 }, crowd, "echo next")
      expect(end).toMatchObject({ exceeded: "It had more than 200 processes.", timedOut: false })
      expect(next).toEqual({ exit: 0, timedOut: false, output: "next\n" })
    })
)

describe.skipIf(!works)("a sandboxed command that takes too much is ended (needs bubblewrap)", () => {
  it.scopedLive("by its processes, with all of them", () =>
    Effect.gen(function*() {
      const { ends: [end] } = yield* run({ processes: 20 }, crowd)
      expect(end).toMatchObject({ exceeded: "It had more than 20 processes.", timedOut: false })
    }))

  it.scopedLive("by its memory", () =>
    Effect.gen(function*() {
      const { ends: [end] } = yield* run(
        { memory: 40 * 1024 ** 2 },
        "x=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 300; echo $x"
      )
      expect(end).toMatchObject({ exceeded: "It used more than 40 MB of memory." })
    }))

  it.scopedLive("by what it leaves in its /tmp, where later commands can make room", () =>
    Effect.gen(function*() {
      const { ends: [filled, fine], repo } = yield* run(
        { files: 10 * 1024 ** 2 },
        "head -c 30000000 /dev/urandom > /tmp/big; sleep 300",
        "rm /tmp/big; sleep 1; echo removed"
      )
      expect(filled).toMatchObject({ exceeded: expect.stringContaining("Its /tmp and home hold more than 10 MB.") })
      expect(fine).toEqual({ exit: 0, timedOut: false, output: "removed\n" })
      expect(fs.readdirSync(repo)).not.toContain("big")
    }))
})
