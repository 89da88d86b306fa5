/**
 * Decides what a project's own files may set while nobody has said that the project is trusted: they may take away, and
 * they may choose, but they may not allow, reach for secrets, or say where requests and keys go.
 */
import { defaults } from "@skein/core/Config"
import type { ConfigIssue } from "../ConfigError.ts"
import { narrow } from "./narrow.ts"
import { coversAll, overlaps } from "./pattern.ts"
import {
  at,
  record,
  rulePath,
  type Sourced,
  type SourcedLeaf,
  type SourcedRecord,
  type SourcedRule
} from "./sourced.ts"

const mend = "put it into your own config if you want it"

/** Whether a value of a project's file never counts, whatever it is: hooks are commands that would run unasked. */
export const isIgnored = ([top, , key, ...rest]: ReadonlyArray<string>): boolean =>
  top === "telemetry"
  || top === "hooks"
  || (top === "provider" && (key === "headers" || (rest.length === 0 && (key === "base_url" || key === "key_env"))))

/** What a value of a project's file would do that never counts. */
const reach = ([top]: ReadonlyArray<string>): string =>
  top === "hooks"
    ? "run commands of its own"
    : `say where ${top === "telemetry" ? "telemetry goes" : "requests and keys go"}`

/** Why an environment variable may not be put into this value of a project's file. */
export const refusesVariable = ([top, , key]: ReadonlyArray<string>): string | undefined =>
  (top === "agent" && (key === "prompt" || key === "description" || key === "output")) || top === "command"
    ? "a project's file may not put environment variables into what a model reads"
    : undefined

/** Why a file may not be put into a value of a project's file; `path` is where it lies below the project. */
export const refusesFile = (path: ReadonlyArray<string>): string | undefined =>
  path[0] === ".."
    ? "a project's file may not read files outside of the project"
    : path.some((name) => /^\.(?:env(?:\..*)?|git)$/i.test(name))
    ? "a project's file may not read this file, which may hold secrets"
    : undefined

/** Whether a project wants requests that its user did not want: they cost money, and nobody at work waits for them. */
const asksForMore = (path: ReadonlyArray<string>, { value }: SourcedLeaf, user: SourcedRecord): boolean => {
  const granted: unknown = at(user, "leaf", path)?.value
  switch (path.join(".")) {
    case "summaries":
      return value !== false && granted !== true
    case "compaction.auto":
      return value !== false && granted === false
    case "compaction.threshold":
      return !(Number(value) >= Number(granted ?? defaults.compaction.threshold))
    default:
      return false
  }
}

/** Whether a value is an amount of what may be used, of which a project may only take away. */
const isAmount = (path: ReadonlyArray<string>): boolean =>
  (path.length === 2 && (path[0] === "limits" || path[0] === "budget"))
  || (path.length === 3 && path[0] === "provider" && path[2] === "max_requests")
  || (path.length === 4 && path[0] === "agent" && path[2] === "budget")

/** What the user grants, where that is less than what a project wants. */
const grantedLess = (path: ReadonlyArray<string>, node: Sourced, user: SourcedRecord): string | undefined => {
  if (node.kind !== "leaf" || !isAmount(path)) return undefined
  const [top = "", key = ""] = path
  const usual: unknown = top === "limits" ? Reflect.get(defaults.limits, key) : undefined
  const granted: unknown = at(user, "leaf", path)?.value ?? usual
  return granted === undefined || Number(node.value) <= Number(granted) ? undefined : String(granted)
}

/** What is left of a project's config. */
export interface Admitted {
  readonly tree: SourcedRecord
  readonly warnings: ReadonlyArray<ConfigIssue>
}

/** Takes out of a project's config what would widen the user's; what is left is made to be merged over it. */
export const admit = (user: SourcedRecord, project: SourcedRecord): Admitted => {
  const warnings: Array<ConfigIssue> = []
  const warn = (origin: SourcedLeaf["origin"], path: ReadonlyArray<string>, message: string) => {
    const key = path.join(".")
    const place = origin.line === undefined ? { file: origin.name } : { file: origin.name, line: origin.line }
    warnings.push({ ...place, key, message: `${key} is ignored: ${message}` })
  }

  const keep = (node: Sourced, path: ReadonlyArray<string>): Sourced | undefined => {
    if (isIgnored(path)) {
      const origin = node.kind === "rules" ? project.origin : node.origin
      warn(origin, path, `a project's file may not ${reach(path)}; ${mend}`)
      return undefined
    }
    const granted = grantedLess(path, node, user)
    if (granted !== undefined && node.kind === "leaf") {
      warn(node.origin, path, `a project's file may take away from what you grant (${granted}), not add to it; ${mend}`)
      return undefined
    }
    if (node.kind === "leaf" && asksForMore(path, node, user)) {
      warn(node.origin, path, `a project's file may not ask for requests of their own; ${mend}`)
      return undefined
    }
    if (node.kind !== "record") return node
    return record(
      [...node.entries].flatMap(([key, value]) => {
        const kept = keep(value, [...path, key])
        return kept === undefined ? [] : [[key, kept] as const]
      }),
      node.origin
    )
  }

  /** A project's `allow` can only take back what the project itself denies, and then a person is asked. */
  const soften = (path: ReadonlyArray<string>): ReadonlyArray<SourcedRule> => {
    const denied: Array<SourcedRule> = []
    return (at(project, "rules", path)?.rules ?? []).flatMap((rule): ReadonlyArray<SourcedRule> => {
      if (rule.action === "deny") denied.push(rule)
      if (rule.action !== "allow") return [rule]
      const exception = denied.some((deny) =>
        overlaps(deny.permission, rule.permission) && overlaps(deny.pattern, rule.pattern)
      )
      warn(
        rule.origin,
        rulePath(path, rule),
        `a project's file may not allow${exception ? ", so that this asks" : ""}; ${mend}`
      )
      return exception ? [{ ...rule, action: "ask" }] : []
    })
  }

  const rules = (path: ReadonlyArray<string>) => at(user, "rules", path)?.rules ?? []
  const top = soften(["permission"])

  const agent = (name: string, kept: SourcedRecord | undefined): SourcedRecord | undefined => {
    const path = ["agent", name]
    const mine = rules([...path, "permission"])
    // The user's rules for an agent stand after those for all agents, and so must what the project says to all agents.
    const theirs = [...(mine.length === 0 ? [] : top), ...soften([...path, "permission"])]
    const confined = narrow([...rules(["permission"]), ...mine], theirs)
    if (kept === undefined && confined.length === 0) return undefined
    const entries = new Map(kept?.entries)
    if (entries.has("permission") || confined.length > 0) entries.set("permission", { kind: "rules", rules: confined })
    if (entries.has("ceiling") && at(user, "record", path) !== undefined) {
      entries.delete("ceiling")
      warn(
        kept?.origin ?? project.origin,
        [...path, "ceiling"],
        "a project's file may not change the ceiling of an agent of yours; use permission to deny"
      )
    }
    for (const key of ["allowedTools", "allowAgents", "deniedTools"]) {
      const before = names(at(user, "leaf", [...path, key]))
      const after = kept?.entries.get(key)
      if (before === undefined || after?.kind !== "leaf") continue
      const wanted = names(after) ?? []
      entries.set(key, { ...after, value: key === "deniedTools" ? [...before, ...wanted] : common(before, wanted) })
    }
    return { kind: "record", entries, origin: kept?.origin ?? project.origin }
  }

  const admitted = keep(project, [])
  const kept = admitted?.kind === "record" ? admitted : record([], project.origin)
  const entries = new Map(kept.entries)
  if (entries.has("permission")) {
    entries.set("permission", { kind: "rules", rules: narrow(rules(["permission"]), top) })
  }
  const agents = at(kept, "record", ["agent"])
  const known = new Set([...(agents?.entries.keys() ?? []), ...(at(user, "record", ["agent"])?.entries.keys() ?? [])])
  const changed = [...known].flatMap((name) => {
    const changes = agent(name, at(kept, "record", ["agent", name]))
    return changes === undefined ? [] : [[name, changes] as const]
  })
  if (changed.length > 0) entries.set("agent", record(changed, agents?.origin ?? project.origin))
  return { tree: { kind: "record", entries, origin: project.origin }, warnings }
}

const names = (leaf: SourcedLeaf | undefined): ReadonlyArray<string> | undefined =>
  Array.isArray(leaf?.value) ? leaf.value.map(String) : undefined

const common = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set([
    ...a.filter((name) => b.some((wide) => coversAll(wide, name))),
    ...b.filter((name) => a.some((wide) => coversAll(wide, name)))
  ])
]
