/** Decides which tools a model is offered, and which rules apply to a session. */
import { modeOf } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { Ruleset } from "@skein/domain/Rule"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import { Agent, type AgentNotFound } from "../../Agent.ts"
import { ceiling as anywhere } from "../../Anywhere.ts"
import { Permission, type Subject } from "../../Permission.ts"
import type { ToolSpec } from "../../Provider.ts"
import { type AnyTool, type ToolCaller, type ToolGuide, Tools } from "../../Tool.ts"
import { type Acting, type Live, pathOf } from "../live/Live.ts"
import { SessionTable } from "../live/SessionTable.ts"
import { toolSchema } from "../toolSchema.ts"

const rootOf = (live: Acting) => live.parent?.root ?? live

/** The mode of the tree that a session is in. */
const treeModeOf = (live: Acting) => modeOf(rootOf(live).info)

/** Who calls, as tools see it. */
export const callerOf = (live: Acting, model: ModelRef, byUser = false): ToolCaller => ({
  sessionID: live.info.id,
  rootID: live.info.rootID,
  depth: live.info.depth,
  projectID: live.info.projectID,
  directory: live.info.directory,
  agent: live.info.agent,
  path: pathOf(live),
  mode: treeModeOf(live),
  model,
  byUser,
  consents: live.tasks.consents
})

/** The current rules for a session's calls. */
const look = (agents: Context.Tag.Service<Agent>, live: Acting): Either.Either<Subject, AgentNotFound> => {
  const own = agents.get(live.info.agent)
  const ceilings = new Set<Ruleset>()
  // Another host may take it up, so this must hold whatever configs say by now.
  if (rootOf(live).info.anywhere === true) ceilings.add(anywhere)
  for (let each: Acting | undefined = live; each !== undefined; each = each.parent) {
    for (const ceiling of each.assignment.terms.ceilings) ceilings.add(ceiling)
    if (each.info.permission.length > 0) ceilings.add(each.info.permission)
    const agent = agents.get(each.info.agent)
    if (Either.isLeft(agent)) return Either.left(agent.left)
    const ceiling = agents.ceiling(agent.right)
    if (ceiling.length > 0) ceilings.add(ceiling)
  }
  const mode = treeModeOf(live)
  return Either.map(own, (agent): Subject => {
    const rules = agents.rules(agent)
    // Mostly the config is still the same.
    const earlier = live.assignment.terms.rules.filter((each) => each !== rules)
    return {
      session: live.info,
      path: pathOf(live),
      mode,
      rules,
      ceilings: [...ceilings],
      ...(earlier.length === 0 ? {} : { earlier })
    }
  })
}

const everything: Ruleset = [{ permission: "*", pattern: "*", action: "deny" }]

/** The rules for a session's calls: its agent's, and the ceilings of it and of all above. */
export const subjectOf = Effect.fnUntraced(function*(live: Acting) {
  const context = yield* Effect.context<Agent | SessionTable>()
  const first = yield* look(Context.get(context, Agent), live)
  const now = Effect.map(Agent, (agents) =>
    // An agent that no longer exists may do nothing.
    Either.getOrElse(look(agents, live), (): Subject => ({ ...first, ceilings: [everything] })))
  const subject: Subject = { ...first, now: Context.get(context, SessionTable).inProject(live, now) }
  return subject
})

const schemas = new WeakMap<AnyTool, Map<string, Record<string, unknown>>>()

/** The JSON Schema of a tool's arguments without the hidden ones; made once for each tool. */
const schemaOf = (tool: AnyTool, hidden: ReadonlyArray<string>): Record<string, unknown> => {
  const key = hidden.join(" ")
  const ofTool = schemas.get(tool) ?? new Map<string, Record<string, unknown>>()
  schemas.set(tool, ofTool)
  const known = ofTool.get(key)
  if (known !== undefined) return known
  const { $schema: _, ...all } = tool.inputSchema ?? toolSchema({ ...JSONSchema.make(tool.parameters) })
  const made = hidden.length === 0 ? all : {
    ...all,
    properties: Object.fromEntries(
      Object.entries(all["properties"] ?? {}).filter(([name]) => !hidden.includes(name))
    )
  }
  ofTool.set(key, made)
  return made
}

const specs = new WeakMap<AnyTool, ToolSpec>()

/** A tool as a model sees it; made once if its description is the same for all. */
const specOf = (tool: AnyTool, description: string, hidden: ReadonlyArray<string>): ToolSpec => {
  const known = specs.get(tool)
  const inputSchema = schemaOf(tool, hidden)
  if (known?.description === description && known.inputSchema === inputSchema) return known
  const made = { name: tool.name, description, inputSchema }
  specs.set(tool, made)
  return made
}

/** These tools as a model sees them, without those that hide from it. */
export const describeAll = Effect.fnUntraced(function*(tools: ReadonlyArray<AnyTool>, caller: ToolCaller) {
  const described: Array<ToolSpec> = []
  for (const tool of tools) {
    const text = typeof tool.describe === "string" ? tool.describe : yield* tool.describe(caller)
    if (text === undefined) continue
    described.push(specOf(tool, text, tool.hides === undefined ? [] : yield* tool.hides(caller)))
  }
  return described
})

/** The tools that may come and go, and the guides to them, as a turn began with them. */
interface Passing {
  readonly tools: ReadonlySet<AnyTool>
  readonly guides: ReadonlyArray<ToolGuide>
}

const passingOf = new WeakMap<Live, Passing>()

/**
 * The tools of a turn. Those that may come and go are the ones that the turn began with: to change them in its middle
 * would make the model read the whole conversation again.
 */
const toolsOfTurn = Effect.fnUntraced(function*(live: Live, isFirst: boolean) {
  const tools = yield* Tools
  const known = isFirst ? undefined : passingOf.get(live)
  if (known === undefined) {
    yield* tools.ready
    passingOf.set(live, { tools: new Set(tools.passing()), guides: tools.guides() })
    return tools.all()
  }
  const passing = new Set(tools.passing())
  const stays = tools.all().filter((tool) => !passing.has(tool))
  return [...stays, ...known.tools].toSorted((a, b) => (a.name < b.name ? -1 : 1))
})

/** The tools with at least one call that may be permitted, as a model sees them. */
export const offer = Effect.fnUntraced(function*(live: Live, subject: Subject, model: ModelRef, isFirst: boolean) {
  const tools = yield* toolsOfTurn(live, isFirst)
  const permission = yield* Permission
  return yield* describeAll(tools.filter((tool) => permission.offered(subject, tool)), callerOf(live, model))
})

/** What the owners of these tools say about their use. */
export const guidesTo = (live: Live, offered: ReadonlyArray<string>): string =>
  (passingOf.get(live)?.guides ?? []).filter(({ tools }) => tools.some((name) => offered.includes(name)))
    .map(({ text }) => text).join("\n\n")
