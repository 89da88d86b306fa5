/** Adds to the git calls of a line why git would run programs of the repositories in which they work. */
import * as Effect from "effect/Effect"
import { resolve } from "node:path"
import { type GitCall, gitCall, runsHooks } from "./gitCall.ts"
import { mayCompare } from "./gitShown.ts"
import type { Invocation, Parts } from "./parts.ts"
import type { Places } from "./places.ts"
import type { LookAtRepository, RepositoryRisk, RepositoryUse } from "./repository.ts"
import { plainWord, spelled } from "./words.ts"

/** The directories in which a git call may work. */
export const gitDirectories = (places: Places, top: string, call: GitCall) =>
  Effect.gen(function*() {
    let directories = places.directories.map((each) => each === "" ? top : each)
    for (const { text } of call.directories) {
      const next: Array<string> = []
      for (const directory of directories) {
        const targets = yield* Effect.catchTag(
          places.of(resolve(directory, text)),
          "ToolError",
          () => Effect.succeed([])
        )
        next.push(...targets.map(({ real }) => real))
      }
      directories = next
    }
    return directories
  })

/** What a git call needs to know about the repositories in which it may work. */
const usesOf = (places: Places, top: string, invocation: Invocation) => {
  const call = gitCall(invocation.args)
  const { known } = call
  if (known === undefined) return Effect.succeed([])
  const named = known.call.named.filter(({ kind, operand }) => kind === "remote" && operand)
  const talks = known.table.operands.includes("remote") && !/^(?:remote)$/.test(call.sub ?? "")
  return Effect.map(gitDirectories(places, top, call), (directories) =>
    directories.map((directory): RepositoryUse => ({
      directory,
      hooks: runsHooks(call),
      compares: mayCompare(call.sub ?? "", known.call),
      remote: talks ? named[0]?.text ?? "default" : undefined
    })))
}

/** Adds that; `top` is the session's directory. */
export const withRepositories = Effect.fnUntraced(function*(
  parts: Parts,
  places: Places,
  top: string,
  look: LookAtRepository
) {
  const known = new Map<string, RepositoryRisk | undefined>()
  const riskOf = Effect.fnUntraced(function*(use: RepositoryUse) {
    const key = JSON.stringify(use)
    if (!known.has(key)) known.set(key, yield* look(use))
    return known.get(key)
  })
  const invocations: Array<Invocation> = []
  for (const invocation of parts.invocations) {
    const uses = invocation.program === "git" && invocation.risk === undefined
      ? yield* usesOf(places, top, invocation)
      : []
    const risks: Array<RepositoryRisk> = []
    const writes: Array<string> = []
    const pushes = gitCall(invocation.args).sub === "push"
    for (const use of uses) {
      const risk = yield* riskOf(use)
      if (risk !== undefined) risks.push(risk)
      if (pushes && risk?.directory !== undefined) {
        writes.push(risk.directory.includes(":") ? risk.directory : resolve(use.directory, risk.directory))
      }
    }
    const [first] = risks
    if (first === undefined) {
      invocations.push(invocation)
      continue
    }
    const words = [plainWord(invocation.program), ...invocation.args]
    const beginning = risks.every(({ hooks }) => hooks)
      ? { beginning: spelled(words.slice(0, gitCall(invocation.args).head)) }
      : {}
    invocations.push({ ...invocation, ...beginning, pattern: spelled(words), risk: first.reason, reads: false, writes })
  }
  return { ...parts, invocations }
})
