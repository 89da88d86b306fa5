/** Merges the files of a project, so that no file of another tool lifts a restriction of an earlier one. */
import { tighten } from "./narrow.ts"
import { coversAll } from "./pattern.ts"
import { at, merge, record, type Sourced, type SourcedLeaf, type SourcedRecord, type SourcedRule } from "./sourced.ts"

/** One source of a project's config. */
interface ProjectPart {
  readonly tree: SourcedRecord
  /** The other tool that it comes from; absent for Skein. */
  readonly layer?: "claude" | "opencode" | "agents"
}

/** Merges the parts; later ones override earlier ones. */
export const mergeProject = (parts: ReadonlyArray<ProjectPart>): SourcedRecord => {
  // In Claude Code these apply whatever an agent says.
  const always = parts.flatMap(({ layer, tree }) =>
    layer === "claude"
      ? (at(tree, "rules", ["permission"])?.rules ?? []).filter(({ action }) => action !== "allow")
      : []
  )
  return parts.reduce(
    (under, { layer, tree }) =>
      layer === undefined ? merge(under, tree) : mergeForeign(under, withinAgents(tree, always)),
    record([], { name: "default" })
  )
}

/** Lays a file of another tool over earlier config: its values count, but it can only restrict. */
export const mergeForeign = (under: SourcedRecord, over: SourcedRecord): SourcedRecord => {
  const agents = at(over, "record", ["agent"])
  const limited = agents === undefined ? over : put(
    over,
    "agent",
    record(
      [...agents.entries].map(([name, said]) => [name, limit(at(under, "record", ["agent", name]), said)]),
      agents.origin
    )
  )
  return merge(under, tightened(under, limited))
}

/** The keys of a file that limit an agent. */
export const limitsOf = (agent: SourcedRecord): SourcedRecord =>
  record([...agent.entries].filter(([key]) => key === "permission" || key in lists), agent.origin)

/** The rules that another tool applies to all its agents override those of each agent. */
const withinAgents = (tree: SourcedRecord, always: ReadonlyArray<SourcedRule>): SourcedRecord => {
  const agents = at(tree, "record", ["agent"])
  if (agents === undefined || always.length === 0) return tree
  const limited = [...agents.entries].map(([name, agent]) => {
    const rules = agent.kind === "record" ? agent.entries.get("permission") : undefined
    return agent.kind === "record" && rules?.kind === "rules"
      ? [name, put(agent, "permission", { kind: "rules", rules: tighten(always, rules.rules) })] as const
      : [name, agent] as const
  })
  return put(tree, "agent", record(limited, agents.origin))
}

const limit = (under: SourcedRecord | undefined, over: Sourced): Sourced => {
  if (under === undefined || over.kind !== "record") return over
  const entries = [...over.entries].map(([key, value]) => {
    const join = lists[key]
    const before = names(under.entries.get(key))
    const after = names(value)
    return join === undefined || before === undefined || after === undefined || value.kind !== "leaf"
      ? [key, value] as const
      : [key, { ...value, value: join(before, after) } satisfies SourcedLeaf] as const
  })
  return tightened(under, record(entries, over.origin))
}

const tightened = (under: SourcedRecord, over: SourcedRecord): SourcedRecord => {
  const before = at(under, "rules", ["permission"])
  const after = at(over, "rules", ["permission"])
  return before === undefined || after === undefined
    ? over
    : put(over, "permission", { kind: "rules", rules: tighten(before.rules, after.rules) })
}

const put = (tree: SourcedRecord, key: string, value: Sourced): SourcedRecord => ({
  ...tree,
  entries: new Map(tree.entries).set(key, value)
})

const names = (leaf: Sourced | undefined): ReadonlyArray<string> | undefined =>
  leaf?.kind === "leaf" && Array.isArray(leaf.value) ? leaf.value.map(String) : undefined

/** The names in both lists. */
export const common = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => [
  ...new Set([
    ...a.filter((name) => b.some((wide) => coversAll(wide, name))),
    ...b.filter((name) => a.some((wide) => coversAll(wide, name)))
  ])
]

const union = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): ReadonlyArray<string> => [...new Set([...a, ...b])]

/** How to merge two lists that limit an agent. */
const lists: Readonly<Record<string, typeof common>> = { allowedTools: common, allowAgents: common, deniedTools: union }
