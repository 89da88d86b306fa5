/** What `skein mcp login` and `skein mcp logout` do. */
import { DataDirs } from "@skein/config/DataDirs"
import { login, logout } from "@skein/mcp/McpLogin"
import { escapeLine } from "@skein/tui/Escape"
import * as Effect from "effect/Effect"
import { mkdirSync, rmSync } from "node:fs"
import { join } from "node:path"
import type { CommandError } from "../../CommandSpec.ts"
import { ExitCode } from "../../ExitCode.ts"
import { Stdio } from "../../Stdio.ts"
import { machine } from "../mcpReach.ts"
import { openPage } from "../serve/open.ts"
import { targetOf } from "./target.ts"

interface Place {
  readonly dir: string | undefined
}

/** Signs in to a server. */
export const loginServer = ({ flags, operands: [name = ""] }: {
  readonly flags: Place & { readonly "no-open": boolean }
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { data } = yield* DataDirs
    const { host, target } = yield* targetOf(name, flags.dir, true)
    const file = join(data, `mcp-login-${process.pid}.html`)
    const show = (page: URL) =>
      Effect.gen(function*() {
        stdio.err(`skein: sign in at ${page.host}. If no browser opens, open this page:`)
        stdio.err(escapeLine(page.href))
        if (flags["no-open"]) return
        yield* Effect.sync(() => mkdirSync(data, { recursive: true, mode: 0o700 }))
        yield* openPage(page.href, file)
      }).pipe(Effect.provideService(Stdio, stdio))
    const { issuer } = yield* Effect.ensuring(
      login(host, target, show),
      Effect.sync(() => rmSync(file, { force: true }))
    )
    stdio.err(`skein: signed in to ${escapeLine(name)}; the login is from ${escapeLine(issuer)}`)
    return ExitCode.done
  }).pipe(Effect.provide(machine))

/** Signs out of a server. */
export const logoutServer = ({ flags, operands: [name = ""] }: {
  readonly flags: Place
  readonly operands: ReadonlyArray<string>
}): Effect.Effect<number, CommandError, Stdio> =>
  Effect.gen(function*() {
    const stdio = yield* Stdio
    const { host, target } = yield* targetOf(name, flags.dir, true)
    const was = yield* logout(host, target)
    stdio.err(was ? `skein: signed out of ${escapeLine(name)}` : `skein: there was no login to ${escapeLine(name)}`)
    return ExitCode.done
  }).pipe(Effect.provide(machine))
