/** The arguments with which a model starts or resumes a task. */
import { Milliseconds } from "@skein/domain/Milliseconds"
import * as Schema from "effect/Schema"

const about = (description: string) => ({ description })

/** The arguments with which a model starts or resumes a task. */
export const TaskInput = Schema.Struct({
  description: Schema.String.annotations(about("A short (3-5 words) description of the task, for people")),
  prompt: Schema.String.annotations(about("All that the subagent reads")),
  subagent_type: Schema.String.annotations(about("The name of the agent that does the task")),
  task_id: Schema.optional(
    Schema.String.annotations(about("An earlier task of yours, to continue it"))
  ),
  session_id: Schema.optional(Schema.String.annotations(about("The same as task_id"))),
  command: Schema.optional(
    Schema.String.annotations(about("The command that led to this task, only as a label"))
  ),
  background: Schema.optional(
    Schema.Boolean.annotations(
      about("true: work in the background")
    )
  ),
  isolation: Schema.optional(
    Schema.Literal("worktree").annotations(
      about("worktree: the subagent works in its own git worktree, on its own branch; its result names the branch")
    )
  ),
  cleanup: Schema.optional(
    Schema.Literal("keep", "delete").annotations(
      about("delete: the subagent's session is removed once you have its result, and cannot be resumed")
    )
  ),
  agent: Schema.optional(
    Schema.Struct({
      prompt: Schema.String.pipe(Schema.maxLength(20_000)).annotations(
        about("The system prompt of the subagent, in the second person: who it is and how it works")
      ),
      tools: Schema.optional(
        Schema.Array(Schema.String).annotations(
          about("The tools that it may use, of those that subagent_type may; all of these if left out")
        )
      )
    }).annotations({
      ...about(
        "A custom agent for this task: subagent_type with another system prompt and fewer tools"
      ),
      title: "an agent {prompt, tools}"
    })
  ),
  model: Schema.optional(Schema.String.annotations(about("A model for the subagent, as provider/model"))),
  timeout: Schema.optional(
    Milliseconds.annotations(about("How long the task may take, in milliseconds or as \"10m\"; 30 minutes if left out"))
  )
})
/** The type of these arguments. */
export interface TaskInput extends Schema.Schema.Type<typeof TaskInput> {}
