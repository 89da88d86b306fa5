/** Finds the tracked files that git calls show although rules require a question before they are read. */
import type { Action } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { existsSync, realpathSync } from "node:fs"
import { resolve } from "node:path"
import { attempt } from "../processes.ts"
import { gitCall } from "./gitCall.ts"
import { collectedBy, mayBeNamed, type Shown, shownBy } from "./gitShown.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import { gitDirectories } from "./repositoryRisks.ts"
import type { TrackedNames } from "./trackedNames.ts"
import { plainWord, spelled } from "./words.ts"

/** The maximum number of files that a question lists. */
const mostNamed = 20

/** The paths that limit a call in this directory, relative to the top. */
const limitsOf = ({ paths, surePaths }: Shown, directory: string, top: string): ReadonlyArray<string> =>
  [...paths.filter((path) => existsSync(resolve(directory, path))), ...surePaths].map((path) =>
    path.startsWith(":") || directory === top ? path : `${directory.slice(top.length + 1)}/${path}`
  )

const unlisted = (invocation: Invocation): Invocation => {
  const words = [plainWord(invocation.program), ...invocation.args]
  return {
    ...invocation,
    pattern: spelled(words),
    beginning: spelled(words.slice(0, gitCall(invocation.args).head)),
    risk: "this repository has more history than can be searched for files that rules do not let be read",
    reads: false
  }
}

/** Finds them. If a repository has too much history, its calls no longer count as reading only. */
export const withGitReads = Effect.fnUntraced(function*(
  parts: Parts,
  places: Places,
  directory: string,
  tracked: TrackedNames,
  reading: (path: string) => Action
) {
  const top = attempt(() => realpathSync(directory), directory)
  const read = new Set<string>()
  const collected = new Set<string>()
  const note = (names: ReadonlyArray<string>, limits: ReadonlyArray<string>, into: Set<string>) => {
    const found = names.filter((name) =>
      !name.startsWith("../") && reading(name) !== "allow" && mayBeNamed(limits, name)
    )
    for (const name of found.slice(0, mostNamed)) into.add(name)
  }
  const invocations: Array<Invocation> = []
  for (const invocation of parts.invocations) {
    const shown = shownBy(invocation)
    const others = collectedBy(invocation)
    let isListed = true
    for (const at of others === undefined ? [] : yield* gitDirectories(places, top, gitCall(invocation.args))) {
      const names = yield* tracked({
        directory: at,
        top,
        ever: false,
        others: others?.ignored === true ? "ignored" : "known"
      })
      note(names ?? [], limitsOf({ ever: false, paths: others?.paths ?? [], surePaths: [] }, at, top), collected)
    }
    for (const at of shown === undefined ? [] : yield* gitDirectories(places, top, gitCall(invocation.args))) {
      const names = yield* tracked({ directory: at, top, ever: shown?.ever === true })
      isListed &&= names !== undefined
      const limits = shown === undefined ? [] : limitsOf(shown, at, top)
      note(names ?? [], limits, read)
    }
    invocations.push(isListed ? invocation : unlisted(invocation))
  }
  return { parts: { ...parts, invocations }, read, collected }
})
