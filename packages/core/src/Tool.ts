/** Owns the tools: how to define one, and which exist. */
import type { MessageID, PartID, RunID, SessionID } from "@skein/domain/Id"
import type { Mode } from "@skein/domain/Mode"
import type { ModelRef } from "@skein/domain/Model"
import type { Attachment, EffectClass } from "@skein/domain/Part"
import type { Action } from "@skein/domain/Rule"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { CommandInfo } from "./Commands.ts"
import type { StorageError } from "./StorageError.ts"

/** A call was refused or failed; the model reads `message` and may correct it. `kind` is stored as the error's tag. */
export class ToolError extends Schema.TaggedError<ToolError>()("ToolError", {
  kind: Schema.String,
  message: Schema.String,
  metadata: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}) {}

/** What allowed a call: a rule or a saved approval, the mode of the tree, the sandbox that it runs in, a hook, or a person. */
export type Allowance = "rule" | "mode" | "sandbox" | "hook" | "person"

/** What a call needs permission for. All patterns must be allowed. */
export interface PermissionAsk {
  /** The key of the permission, such as `edit` or `external_directory`. */
  readonly permission: string
  readonly patterns: ReadonlyArray<string>
  /** The patterns that the answer `always` stores; empty if `always` is not offered. */
  readonly always: ReadonlyArray<string>
  /**
   * The patterns that no wildcard allows, only a rule that names them in full: those that run other programs, write by
   * a flag, or are not fully known before they run. If absent, a pattern of `bash` is an unparsed line, and counts as
   * such.
   */
  readonly exact?: ReadonlyArray<string>
  /** For some of those, how a rule must begin to allow them with a wildcard behind that, such as `npx vitest`. */
  readonly beginnings?: Readonly<Record<string, string>>
  /** Those of them that are ordinary use of their program: a rule for its name and a wildcard allows them, too. */
  readonly ordinary?: ReadonlyArray<string>
  /**
   * The patterns of commands that may run more than they show: a text, a script, or a word that only the shell knows.
   * Where a rule denies commands, mode `auto` needs a rule for each of them that is no catch-all.
   */
  readonly runs?: ReadonlyArray<string>
  /**
   * The patterns of commands that run files of the project, such as `make`. Unless they are `confined`, mode `auto` needs a
   * rule for their program where a rule denies commands.
   */
  readonly runsProject?: ReadonlyArray<string>
  /**
   * Whether it may open files that its words do not name. Unless it is `confined`, mode `auto` denies that where a rule
   * denies reading.
   */
  readonly opens?: boolean
  /** The patterns that are known to only read, once permission to read is given. */
  readonly reads?: ReadonlyArray<string>
  /**
   * Other ways to write the patterns. A rule that matches one of them can deny the call or have it asked about, but
   * never allow it; a catch-all does not match them.
   */
  readonly also?: ReadonlyArray<string>
  /**
   * Another key that rules may mean this permission by. What they deny by it is denied here, and what they ask for is
   * asked; it allows nothing. Rules that match the key itself say enough, and are not read again.
   */
  readonly alias?: string
  /** The effect of the call is unknown: no rule and no approval allows it, and rules that deny still apply. */
  readonly unclear?: boolean
  /** Shown with the question. */
  readonly metadata: Readonly<Record<string, unknown>>
  /** A protected thing: no rule, approval or `--auto` allows it, only a person who is asked each time. */
  readonly protected?: boolean
  /** The user asked for exactly this protected thing in this turn, so that `auto` allows it. */
  readonly requested?: boolean
  /**
   * If edits are denied above the caller, the call runs so that it cannot change a file. If absent, a command must then
   * be known to only read.
   */
  readonly confined?: boolean
  /**
   * Whether running in a sandbox replaces the default question: in every mode, or only in modes that allow edits. If
   * absent, a person answers.
   */
  readonly sandbox?: "anyMode" | "edits"
  /** Called before the decision: whether an earlier permission of the same call covers this one. */
  readonly needless?: () => boolean
  /** Other permissions that the question names as well: an answer of `always` stores its patterns for them, too. */
  readonly together?: ReadonlyArray<string>
  /** Called with what allowed it, after each decision. */
  readonly allowed?: (by: Allowance) => void
  /** A hook wants a person to be asked, even if rules and approvals allow it. */
  readonly insists?: boolean
  /** The user asked for exactly this in this turn: that lifts `ask`, never `deny`. */
  readonly consented?: boolean
}

/** Who calls, from where. */
export interface ToolCaller {
  readonly sessionID: SessionID
  readonly rootID: SessionID
  readonly depth: number
  readonly projectID: string
  /** The session's working directory, absolute. */
  readonly directory: string
  readonly agent: string
  /** The names of the agents from the root to this one. */
  readonly path: ReadonlyArray<string>
  readonly model: ModelRef
  /** Whether the runtime makes the call for the user, and not a model. */
  readonly byUser: boolean
  /** The subagents that the user named in this turn, and `/init` if the user asked for the project's instructions. */
  readonly consents: ReadonlySet<string>
  /** The mode of the tree; `ask` if absent. */
  readonly mode?: Mode
  /** What the rules say of reading a path, as they show it. If absent, the defaults apply. */
  readonly reading?: (path: string) => Action
  /** What rules that deny changing a path, or name some paths, say of it. If absent, there are none. */
  readonly editing?: (path: string) => Action
}

/** A call that is being run. */
export interface ToolContext extends ToolCaller {
  readonly messageID: MessageID
  readonly partID: PartID
  readonly callID: string
  /** Whether edits are denied above the caller: nothing that the call runs may change a file. */
  readonly readsOnly: boolean
  /** The mode of the tree. */
  readonly mode: Mode
  /** What rules and approvals say of reading a file; the path as rules see it. */
  readonly readAction: Effect.Effect<(path: string) => Action, StorageError>
  /** Whether any rule denies some calls of a permission. If absent, none does. */
  readonly deniesSome?: (permission: string) => boolean
  /**
   * Makes sure that this process still holds the tree, and returns for how long at least, in milliseconds. Call it right
   * before what cannot be undone: a process that was suspended may have lost the tree.
   */
  readonly confirm: Effect.Effect<number, StorageError>
  /** Shows what the call is doing while it runs. */
  readonly report: (update: {
    readonly title?: string
    readonly metadata?: Readonly<Record<string, unknown>>
  }) => Effect.Effect<void>
  /** The result of the call if it is interrupted from now on; if you never set it, its outcome is unknown. */
  readonly ifCutOff: (end: ToolError) => Effect.Effect<void>
  /** Declares that the result of the call includes the outcome of these runs, so that no notification repeats them. */
  readonly tells: (runs: ReadonlyArray<RunID>) => Effect.Effect<void>
}

/** What a parked call waits for. */
export interface Wait {
  /** Calls back once the wait is over, which may be at once. */
  readonly onReady: (ring: () => void) => void
  /** Ends as the wait does, and is run then, or to be interrupted: its interruption ends what it waits for. */
  readonly result: Effect.Effect<ToolResult, ToolError>
}

/**
 * A call that begins something and waits for it, as data: thousands may, so that they need no fibers meanwhile. Another
 * process that takes the session over has to find again what was begun, with `recover`.
 */
export class Parked {
  /** Begins it, uninterrupted. Nothing comes between this and the wait. */
  readonly begin: Effect.Effect<Wait, ToolError>

  constructor(begin: Effect.Effect<Wait, ToolError>) {
    this.begin = begin
  }
}

/** The result of a call, which may have to be waited for. */
export const resultOf = (made: ToolResult | Parked): Effect.Effect<ToolResult, ToolError> =>
  made instanceof Parked
    ? Effect.uninterruptibleMask((restore) => Effect.flatMap(made.begin, ({ result }) => restore(result)))
    : Effect.succeed(made)

/**
 * The result of a call. The model reads `output`: beyond 2,000 lines or 50 KB it is truncated, and the rest is kept in
 * a spill file.
 */
export interface ToolResult {
  readonly title: string
  readonly output: string
  readonly metadata: Readonly<Record<string, unknown>>
  readonly attachments?: ReadonlyArray<Attachment>
}

/** What a call needs permission for, and what its tool found out meanwhile: `execute` gets that plan. */
export interface Authorised<out Plan> {
  readonly asks: ReadonlyArray<PermissionAsk>
  readonly plan: Plan
}

/** The questions of a call, and its plan if it has one. */
export const authorised = <Plan>(
  found: ReadonlyArray<PermissionAsk> | Authorised<Plan>
): Authorised<Plan | undefined> => "plan" in found ? found : { asks: found, plan: undefined }

/** A tool: its description for models, and its implementation. */
export interface Tool<Input, Plan = undefined> {
  readonly name: string
  /** The permission key of the tool. Rules for the tool's name apply too; the stricter wins. */
  readonly permission: string
  /**
   * The description for the model. If it depends on the caller, `undefined` means that the tool is not offered to it.
   */
  readonly describe: string | ((caller: ToolCaller) => Effect.Effect<string | undefined, StorageError>)
  /** The arguments; each field carries a description for the model. */
  // oxlint-disable-next-line typescript/no-explicit-any -- what the model sends is unknown until it has been decoded
  readonly parameters: Schema.Schema<Input, any>
  /** The JSON Schema of the arguments that models see, word for word; by default, it is made from `parameters`. */
  readonly inputSchema?: Readonly<Record<string, unknown>>
  /** Whether Skein cannot tell what a call changes: such a tool is neither offered nor run where edits are denied. */
  readonly opaque?: boolean
  /** The tool that a call of this one makes, for hooks: they see that tool, and may change what it gets. */
  readonly calls?: (input: unknown) => CalledThrough | undefined
  /** The arguments to hide from a caller that may not use them; none by default. */
  readonly hides?: (caller: ToolCaller) => Effect.Effect<ReadonlyArray<string>, StorageError>
  /** What to do with a call that a crash interrupted. */
  readonly effect: EffectClass
  /** Whether the call mostly waits for other agents or people: it then needs no slot. */
  readonly waits: boolean
  /** A few words for people, from validated arguments. */
  readonly title: (input: Input) => string
  /**
   * The permission that this call needs, with a plan if `execute` must go by what was found out here; may refuse the
   * call. Must not have side effects. A call that is made again after a crash is authorised again.
   */
  readonly authorise: (
    input: Input,
    caller: ToolCaller
  ) => Effect.Effect<Authorised<Plan> | (Plan extends undefined ? ReadonlyArray<PermissionAsk> : never), ToolError>
  /**
   * Makes the call, once permission was given and the intent was stored. Interruption undoes nothing but leaves nothing
   * running.
   */
  readonly execute: (input: Input, context: ToolContext, plan: Plan) => Effect.Effect<ToolResult | Parked, ToolError>
  /**
   * Finds the outcome of a call that another process began and did not finish: returns its result, or `again` if
   * nothing of it was done, or if repeating it does no harm. If absent, a `safe` call is repeated, and the outcome of
   * all others is reported as unknown.
   */
  readonly recover?: (input: Input, context: ToolContext) => Effect.Effect<ToolResult | Parked | "again", ToolError>
}

/** A tool whose argument type is known only to itself. */
// oxlint-disable-next-line typescript/no-explicit-any -- the registry holds tools of all argument types
export type AnyTool = Tool<any, any>

/** A tool that is called by way of another. */
export interface CalledThrough {
  readonly tool: AnyTool
  /** What it gets. */
  readonly input: unknown
  /** The arguments of the other tool, if this one is to get these. */
  readonly withInput: (input: unknown) => unknown
}

/** Defines a tool, with defaults filled in. */
export const define = <Input, Plan = undefined>(
  tool: Omit<Tool<Input, Plan>, "waits" | "permission"> & {
    readonly permission?: string
    readonly waits?: boolean
  }
): Tool<Input, Plan> => ({ ...tool, permission: tool.permission ?? tool.name, waits: tool.waits ?? false })

/** What a tool takes and answers, without its implementation. */
export interface ToolContract<in out Input, in out Answer, in out Failure> {
  readonly name: string
  /** What it does, for the model. */
  readonly description: string
  readonly parameters: Schema.Schema<Input, any> // oxlint-disable-line typescript/no-explicit-any -- see `Tool`
  readonly success: Schema.Schema<Answer, any> // oxlint-disable-line typescript/no-explicit-any -- any encoding
  readonly failure: Schema.Schema<Failure, any> // oxlint-disable-line typescript/no-explicit-any -- any encoding
  readonly effect: EffectClass
  /** Asks for permission with this pattern, under the tool's name; absent if a call needs no permission. */
  readonly asks?: (input: Input) => string
}

/**
 * A contract. Without `success`, the tool answers with text. What a crash interrupted is not repeated, unless `effect` says
 * that it may be.
 */
export const make = <Input, Answer = string, Failure = never>(
  name: string,
  options:
    & { readonly description: string; readonly parameters: ToolContract<Input, Answer, Failure>["parameters"] }
    & Partial<Pick<ToolContract<Input, Answer, Failure>, "asks" | "effect" | "failure" | "success">>
): ToolContract<Input, Answer, Failure> => ({
  name,
  effect: "never",
  success: Schema.String as unknown as Schema.Schema<Answer, unknown>,
  failure: Schema.Never as unknown as Schema.Schema<Failure, unknown>,
  ...options
})

/** The message of a failure, and its tag. */
const asToolError = (failure: unknown, encoded: unknown): ToolError => {
  const { _tag: kind = "failed", message } = Object(failure) as { readonly _tag?: unknown; readonly message?: unknown }
  return new ToolError({
    kind: String(kind),
    message: typeof message === "string" && message !== "" ? message : JSON.stringify(encoded)
  })
}

/**
 * Implements a contract. The tool runs with the services that are there when it is made. Models read an answer as JSON, or as
 * it is if it is text, and a failure as its message.
 */
export const handle = <Input, Answer, Failure, R>(
  { asks, description, failure, success, ...contract }: ToolContract<Input, Answer, Failure>,
  handler: (input: Input, call: ToolContext) => Effect.Effect<Answer, Failure, R>
): Effect.Effect<AnyTool, never, R> => {
  const { name } = contract
  const encode = <A>(schema: Schema.Schema<A, unknown>, value: A) =>
    Effect.mapError(
      Schema.encode(schema)(value),
      ({ message }) =>
        new ToolError({ kind: "invalid_result", message: `The tool ${name} broke its contract: ${message}` })
    )
  return Effect.map(Effect.context<R>(), (services) =>
    define<Input>({
      ...contract,
      describe: description,
      title: () => name,
      authorise: (input) =>
        Effect.succeed(
          asks === undefined
            ? []
            : [{ permission: name, patterns: [asks(input)], always: [asks(input)], metadata: { input } }]
        ),
      execute: (input, call) =>
        Effect.provide(handler(input, call), services).pipe(
          Effect.matchEffect({
            onFailure: (error) =>
              Effect.flatMap(encode(failure, error), (encoded) => Effect.fail(asToolError(error, encoded))),
            onSuccess: (answer) => encode(success, answer)
          }),
          Effect.map((answer) => ({
            title: name,
            output: typeof answer === "string" ? answer : JSON.stringify(answer),
            metadata: {}
          }))
        )
    }))
}

/** Tools that come and go while a project is open, such as those of MCP servers. */
export interface ToolSource {
  /**
   * Run before the first model request of each turn: ends when the tools are known, or when the source no longer wants
   * to keep the turn waiting.
   */
  readonly ready: Effect.Effect<void>
  /** The same for the prompts: ends when the commands are known, too. */
  readonly commandsReady: Effect.Effect<void>
  /** The tools that there are now, sorted by name; the same array until they change. */
  readonly current: () => ReadonlyArray<AnyTool>
  /** The prompts that there are now, as commands. */
  readonly commands: () => ReadonlyArray<CommandInfo>
  /** What the owners of tools say about their use; the same array until that changes. */
  readonly guides: () => ReadonlyArray<ToolGuide>
  /** Why there is no tool of this name now, such as a server that cannot be used; absent if nothing is known. */
  readonly whyMissing?: (name: string) => string | undefined
}

/** What the owner of some tools says about their use: agents who are offered one of them read it. */
export interface ToolGuide {
  readonly tools: ReadonlyArray<string>
  /** Text for the system prompt, ready to be sent. */
  readonly text: string
}

const nothing: ReadonlyArray<AnyTool> = []
const noGuides: ReadonlyArray<ToolGuide> = []

/** A source without tools. */
export const noSource: ToolSource = {
  ready: Effect.void,
  commandsReady: Effect.void,
  current: () => nothing,
  commands: () => [],
  guides: () => noGuides
}

/** Tools by their names. */
export interface ToolRegistry {
  /** All tools, sorted by name. */
  readonly all: () => ReadonlyArray<AnyTool>
  /** The tool of exactly this name. */
  readonly get: (name: string) => AnyTool | undefined
  /** Run before the first model request of each turn: waits for tools that are about to come. */
  readonly ready: Effect.Effect<void>
  /** Waits for commands that are about to come. */
  readonly commandsReady: Effect.Effect<void>
  /** The tools that may come and go between turns: a turn is offered those that it began with. */
  readonly passing: () => ReadonlyArray<AnyTool>
  /** The prompts that come with such tools, as commands. */
  readonly commands: () => ReadonlyArray<CommandInfo>
  /** What the owners of such tools say about their use. */
  readonly guides: () => ReadonlyArray<ToolGuide>
  /** Why there is no tool of this name now, where its source knows. */
  readonly whyMissing: (name: string) => string | undefined
  /** Adds a tool until the scope closes; the later of two with one name wins. */
  readonly register: (tool: AnyTool) => Effect.Effect<void, never, Scope.Scope>
}

/** The tools of a project. */
export class Tools extends Context.Tag("@skein/core/Tool")<Tools, ToolRegistry>() {
  /** A registry of one tool, which implements a contract. */
  static layer<Input, Answer, Failure, R>(
    contract: ToolContract<Input, Answer, Failure>,
    handler: (input: Input, call: ToolContext) => Effect.Effect<Answer, Failure, R>
  ): Layer.Layer<Tools, never, Exclude<R, Scope.Scope>>
  /** A registry that begins with these tools. */
  static layer<E = never, R = never>(
    tools: Effect.Effect<ReadonlyArray<AnyTool>, E, R>
  ): Layer.Layer<Tools, E, Exclude<R, Scope.Scope>>
  static layer(
    tools: Effect.Effect<ReadonlyArray<AnyTool>, unknown, unknown> | ToolContract<unknown, unknown, unknown>,
    handler: (input: unknown, call: ToolContext) => Effect.Effect<unknown, unknown, unknown> = () => Effect.void
  ): Layer.Layer<Tools, unknown, unknown> {
    const made = Effect.isEffect(tools) ? tools : Effect.map(handle(tools, handler), (tool) => [tool])
    return Layer.scoped(Tools, Effect.map(made, makeRegistry))
  }

  /**
   * A registry over the tools that all projects share, and over those of a source; a project's own tool overrides a shared
   * one, and both override one of the source.
   */
  static readonly layerOver = <E = never, R = never, E2 = never, R2 = never>(
    tools: Effect.Effect<ReadonlyArray<AnyTool>, E, R>,
    source: Effect.Effect<ToolSource, E2, R2>
  ): Layer.Layer<Tools, E | E2, SharedTools | Exclude<R | R2, Scope.Scope>> =>
    Layer.scoped(
      Tools,
      Effect.gen(function*() {
        const shared = yield* SharedTools
        return over(yield* source, shared, makeRegistry(yield* tools))
      })
    )
}

/** The tools that all projects of a process have, such as `task`. */
export class SharedTools extends Context.Tag("@skein/core/Tool/SharedTools")<SharedTools, ToolRegistry>() {
  /** Empty at first: other layers register them. */
  static readonly layer: Layer.Layer<SharedTools> = Layer.sync(SharedTools, () => makeRegistry([]))

  /** The tools of a program with one project. */
  static readonly layerOne: Layer.Layer<SharedTools, never, Tools> = Layer.effect(SharedTools, Tools)
}

const sort = (tools: Iterable<AnyTool>) => [...tools].toSorted((a, b) => (a.name < b.name ? -1 : 1))

/** Nothing comes or goes by itself. */
const fixed: Pick<ToolRegistry, "commands" | "commandsReady" | "guides" | "passing" | "ready" | "whyMissing"> = {
  ready: noSource.ready,
  commandsReady: noSource.commandsReady,
  commands: noSource.commands,
  guides: noSource.guides,
  passing: noSource.current,
  whyMissing: () => undefined
}

const makeRegistry = (initial: ReadonlyArray<AnyTool>): ToolRegistry => {
  // All tools added under each name; the last one wins.
  const byName = new Map<string, ReadonlyArray<AnyTool>>()
  const put = (tool: AnyTool) => byName.set(tool.name, [...byName.get(tool.name) ?? [], tool])
  const take = (tool: AnyTool) => {
    const left = (byName.get(tool.name) ?? []).filter((each) => each !== tool)
    if (left.length > 0) byName.set(tool.name, left)
    else byName.delete(tool.name)
  }
  initial.forEach(put)
  let sorted: ReadonlyArray<AnyTool> | undefined
  const change = (apply: () => void) =>
    Effect.sync(() => {
      apply()
      sorted = undefined
    })
  return {
    all: () => sorted ??= sort([...byName.values()].flatMap((each) => each.slice(-1))),
    get: (name) => byName.get(name)?.at(-1),
    ...fixed,
    register: (tool) => Effect.asVoid(Effect.acquireRelease(change(() => put(tool)), () => change(() => take(tool))))
  }
}

const over = (source: ToolSource, shared: ToolRegistry, own: ToolRegistry): ToolRegistry => {
  let merged: { readonly of: ReadonlyArray<unknown>; readonly all: ReadonlyArray<AnyTool> } | undefined
  return {
    all: () => {
      // Each of them returns the same array until it changes.
      const of = [source.current(), shared.all(), own.all()]
      if (merged === undefined || of.some((each, at) => merged?.of[at] !== each)) {
        merged = { of, all: sort(new Map(of.flat().map((tool) => [tool.name, tool])).values()) }
      }
      return merged.all
    },
    get: (name) => own.get(name) ?? shared.get(name) ?? source.current().find((tool) => tool.name === name),
    ready: source.ready,
    commandsReady: source.commandsReady,
    passing: source.current,
    commands: source.commands,
    guides: source.guides,
    whyMissing: (name) => source.whyMissing?.(name),
    register: own.register
  }
}

/** Whether the calls of a tool change files. */
export const changesFiles = ({ permission }: Pick<AnyTool, "permission">): boolean => permission === "edit"
