/**
 * Opens pages in a browser through a file that redirects to them. As an argument, a login code would be visible to every
 * user.
 */
import { environment } from "@skein/tools/Environment"
import { ownEnvironment, ownProgram } from "@skein/tools/OwnPrograms"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { rmSync, writeFileSync } from "node:fs"
import { cwd, platform } from "node:process"
import { Stdio } from "../../Stdio.ts"
import { serverFile } from "../attach/findServer.ts"
import { errorLine } from "../explain.ts"

const openers: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: "open", win32: "explorer" }

const pageTo = (url: string): string =>
  `<!doctype html><meta charset="utf-8"><title>Skein</title><meta http-equiv="refresh" content="0;url=${
    url.replaceAll("&", "&amp;").replaceAll("\"", "&quot;")
  }">\n`

/** Opens the file in a browser. Returns what is wrong if no program can. */
const handOver = (file: string, variables: Readonly<Record<string, string | undefined>>) =>
  Effect.async<string | undefined>((resume) => {
    const child = spawn(ownProgram(openers[platform] ?? "xdg-open", variables["PATH"], cwd()), [file], {
      env: ownEnvironment(variables, cwd()),
      stdio: "ignore",
      detached: true
    })
    child.once("error", ({ message }) => resume(Effect.succeed(message)))
    child.once("spawn", () => {
      child.unref()
      resume(Effect.succeed(undefined))
    })
  })

/** Opens a URL through a file that only this user can read. Without a browser it says so; the URL was already printed. */
export const openPage = Effect.fnUntraced(function*(url: string, file: string) {
  const stdio = yield* Stdio
  yield* Effect.sync(() => {
    rmSync(file, { force: true })
    writeFileSync(file, pageTo(url), { mode: 0o600, flag: "wx" })
  })
  const problem = yield* handOver(file, yield* environment)
  if (problem !== undefined) stdio.err(errorLine(`No browser could be opened (${problem}). Open the URL yourself.`))
})

/** Opens a page of the server of this database. */
export const openBrowser = Effect.fnUntraced(function*(url: string) {
  yield* openPage(url, (yield* serverFile).replace(/json$/, "open.html"))
})
