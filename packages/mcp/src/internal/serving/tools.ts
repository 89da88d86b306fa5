/** Declares the tools that clients call, and checks with what they call them. */
import type { Tool } from "@modelcontextprotocol/server"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { Refused } from "./Call.ts"

const about = (description: string) => ({ description })

const text = (description: string) =>
  Schema.String.pipe(Schema.pattern(/\S/, { message: () => "a text that is not empty" })).annotations(
    about(description)
  )

const agentName = text("The agent that does the task")
const fullPrompt = text("All that the agent reads: it knows nothing of your conversation")
const more = {
  description: Schema.optional(text("A short (3-5 words) description of the task, for people")),
  task_id: Schema.optional(text("An earlier task of this connection, to continue it"))
}

/** One task of a call. */
const OneTask = Schema.Struct({ agent: agentName, prompt: fullPrompt, ...more })
/** The type of one task of a call. */
export type OneTask = typeof OneTask.Type

/** How many tasks one call may begin. */
const most = 64

const TaskInput = Schema.Struct({
  agent: Schema.optional(agentName),
  prompt: Schema.optional(fullPrompt),
  ...more,
  tasks: Schema.optional(
    Schema.NonEmptyArray(OneTask).pipe(Schema.maxItems(most)).annotations(
      about("Several tasks, which work at the same time; instead of agent and prompt")
    )
  ),
  directory: Schema.optional(
    text("The absolute path of the directory to work in; where left out, the one that Skein was started in")
  ),
  background: Schema.optional(
    Schema.Boolean.annotations(about("true: answer at once, while the tasks still work; task_status gives the results"))
  )
})

const neither = new Refused({ message: "task: give agent and prompt for one task, or tasks for several, not both." })

/** The tasks that a call means. */
export const tasksIn = (
  { agent, description, prompt, task_id, tasks }: typeof TaskInput.Type
): Effect.Effect<readonly [OneTask, ...ReadonlyArray<OneTask>], Refused> => {
  const isOne = [agent, prompt, description, task_id].some((given) => given !== undefined)
  if (tasks !== undefined) return isOne ? neither : Effect.succeed(tasks)
  return agent === undefined || prompt === undefined
    ? neither
    : Effect.succeed([{ agent, prompt, description, task_id }])
}

const StatusInput = Schema.Struct({
  task_id: Schema.optional(text("One task; all tasks of this connection if left out")),
  wait: Schema.optional(
    Schema.Boolean.annotations(about("true: answer when these tasks have ended, with their results"))
  )
})

const MessageInput = Schema.Struct({
  task_id: text("The task, which must be at work"),
  message: text("What the agent reads at its next step")
})

const StopInput = Schema.Struct({
  task_id: text("The task"),
  reason: Schema.optional(text("Why; the agent reads it"))
})

const SessionsInput = Schema.Struct({
  directory: Schema.optional(
    text("The absolute path of a directory of the project; where left out, the one that Skein was started in")
  )
})

/** The arguments of each tool. */
export const inputs = {
  task: TaskInput,
  task_status: StatusInput,
  task_message: MessageInput,
  task_stop: StopInput,
  sessions: SessionsInput
} as const

/** The name of a tool. */
type ToolName = keyof typeof inputs

/** The arguments of a tool. */
export type InputOf<N extends ToolName> = Schema.Schema.Type<(typeof inputs)[N]>

/** Whether there is a tool of this name. */
export const isTool = (name: string): name is ToolName => Object.hasOwn(inputs, name)

/** Reads the arguments of a call of the tool of this name. */
export const readInput = <A, I>(
  name: ToolName,
  schema: Schema.Schema<A, I>,
  given: unknown
): Effect.Effect<A, Refused> =>
  Schema.decodeUnknown(schema, { onExcessProperty: "error", errors: "all" })(given ?? {}).pipe(
    Effect.mapError((error) =>
      new Refused({
        message: ParseResult.ArrayFormatter.formatErrorSync(error).map(({ message, path }) =>
          [name, ...path.map(String)].join(".") + `: ${message}`
        ).join("\n")
      })
    )
  )

type Property = NonNullable<Tool["inputSchema"]["properties"]>[string]

const Properties = Schema.mutable(
  Schema.Record({ key: Schema.String, value: Schema.declare((value): value is Property => Predicate.isRecord(value)) })
)

/** What the protocol takes as the schema of a tool's arguments. */
const InputSchema = Schema.Struct({
  type: Schema.Literal("object"),
  properties: Schema.optionalWith(Properties, { exact: true }),
  required: Schema.optionalWith(Schema.mutable(Schema.Array(Schema.String)), { exact: true }),
  additionalProperties: Schema.optionalWith(Schema.Boolean, { exact: true })
})
const decodeInputSchema = Schema.decodeUnknownSync(InputSchema)

/** The schema as clients read it: each of them is an object. */
const schemaOf = <A, I>(schema: Schema.Schema<A, I>): Tool["inputSchema"] => {
  const { $schema: _, ...made } = JSONSchema.make(schema)
  return decodeInputSchema(made, { onExcessProperty: "error" })
}

const reading = { readOnlyHint: true, openWorldHint: false }

/** The tools; `agents` are lines about those of the directory that the client works in. */
export const toolsOf = (agents: ReadonlyArray<string>): Array<Tool> => [
  {
    name: "task",
    title: "Delegate a task",
    description: [
      "Delegates a task to an agent of Skein. The agent works on its own, with its own tools and subagents, and only its conclusion comes back. "
      + "Use it for work that can be concluded on its own: exploring, reading across many files, a change with its tests. "
      + "For independent parts, give several tasks in one call: they work at the same time, even if you run calls one after another. "
      + "With background you can go on meanwhile: get the results with task_status and wait.",
      ...(agents.length === 0 ? [] : [`Agents:\n${agents.join("\n")}`])
    ].join("\n\n"),
    inputSchema: schemaOf(inputs.task),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    execution: { taskSupport: "optional" }
  },
  {
    name: "task_status",
    title: "Status of tasks",
    description:
      "Says what the tasks of this connection do, or what they wait for, and gives the result of one that has ended. "
      + "What tasks in the background ask for is asked while you wait for them here.",
    inputSchema: schemaOf(inputs.task_status),
    annotations: reading
  },
  {
    name: "task_message",
    title: "Message to a task",
    description: "Tells a task at work something, which its agent reads at its next step.",
    inputSchema: schemaOf(inputs.task_message),
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false }
  },
  {
    name: "task_stop",
    title: "Stop a task",
    description: "Stops a task. Its agent may conclude first, and its partial work comes back.",
    inputSchema: schemaOf(inputs.task_stop),
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false }
  },
  {
    name: "sessions",
    title: "Sessions of a project",
    description: "Lists the latest sessions of a project. Their transcripts are resources: skein://sessions/ID.",
    inputSchema: schemaOf(inputs.sessions),
    annotations: reading
  }
]
