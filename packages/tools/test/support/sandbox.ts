/** Repositories in which lines run as the tool `bash` would run them, in the sandbox. */
import { Sandbox } from "@skein/tools/Sandbox"
import type { SandboxOptions, SandboxPlace } from "@skein/tools/SandboxPlace"
import * as Effect from "effect/Effect"
import { execFile, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as path from "node:path"

/** Whether bubblewrap can be used here. */
export const works =
  spawnSync("bwrap", ["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "true"]).status === 0

/** How a line ended. */
interface Ended {
  readonly code: number
  readonly output: string
}

/** Runs git as somebody. */
export const git = (directory: string, ...args: ReadonlyArray<string>) => {
  const identity = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
  const { status, stderr } = spawnSync("git", [...identity, ...args], { cwd: directory, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr)
}

/** A repository in a directory of its own, with a directory beside it that a command has no business in. */
export const worldIn = (directory: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const top = fs.realpathSync(fs.mkdtempSync(path.join(directory, "skein-box-")))
      const repo = path.join(top, "repo")
      fs.mkdirSync(path.join(top, "other"))
      fs.mkdirSync(path.join(top, "data", "spill"), { recursive: true })
      fs.writeFileSync(path.join(top, "data", "spill", "long.out"), "kept")
      git(top, "init", "-q", "-b", "main", repo)
      fs.writeFileSync(path.join(repo, "a.txt"), "a")
      git(repo, "add", ".")
      git(repo, "commit", "-qm", "first")
      return { top, repo, at: (name: string) => path.join(repo, name) }
    }),
    ({ top }) => Effect.sync(() => fs.rmSync(top, { recursive: true, force: true }))
  )

/** What lies below /tmp is not seen from within; a tree usually does not. */
export const world = worldIn("/var/tmp")

/** The sandbox of a world. */
export const layerIn = (top: string, options: Partial<SandboxOptions> = {}, searched = process.env["PATH"]) =>
  Sandbox.layer({
    network: false,
    ...options,
    dataDirectory: path.join(top, "data"),
    environment: { PATH: searched, HOME: path.join(top, "home") }
  })

/** Runs a line of bash as the tool would. */
export const runIn = (place: SandboxPlace, line: string) =>
  Effect.scoped(Effect.gen(function*() {
    const { confine } = yield* Sandbox
    const [file = "bash", ...args] = [...(yield* confine(place)), "bash", "-c", line]
    return yield* Effect.async<Ended>((resume) => {
      const child = execFile(file, args, { cwd: place.directory, encoding: "utf8" }, (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === "number" ? error.code : 1
        resume(Effect.succeed({ code, output: stdout + stderr }))
      })
      child.stdin?.on("error", () => undefined).end()
      return Effect.sync(() => child.kill())
    })
  }))
