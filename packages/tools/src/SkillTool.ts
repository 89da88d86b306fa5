/** The tool `skill`: offers skills by name and description, and returns the text of one, or a file from its folder. */
import * as FileSystem from "@effect/platform/FileSystem"
import { Agent } from "@skein/core/Agent"
import { Skill, type SkillInfo } from "@skein/core/Instructions"
import { evaluate } from "@skein/core/Ruleset"
import { define, type Tool, type ToolCaller } from "@skein/core/Tool"
import { nearest } from "@skein/domain/Lookup"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { filesOf, readBeside } from "./internal/files/skillFiles.ts"
import { refuse } from "./internal/refusal.ts"

const description =
  `Gives you a skill: how a kind of work is done here, written down by people. Read the skill that fits before you begin such
work; its text takes the place of what you would do otherwise. With file you read another file of its folder.`

const Parameters = Schema.Struct({
  name: Schema.NonEmptyString.annotations({ description: "The name of the skill" }),
  file: Schema.optional(
    Schema.NonEmptyString.annotations({ description: "A file that the skill names, as a path below its folder" })
  )
})

/** The parameters of `skill`. */
export interface SkillInput extends Schema.Schema.Type<typeof Parameters> {}

/** The maximum length of all descriptions, and of one, in characters: every request pays for them. */
const room = { all: 8_000, one: 300 }

const lineOf = ({ description: text, name }: SkillInfo): string => {
  const words = text.replace(/\s+/g, " ").trim()
  return `- ${name}: ${words.length > room.one ? `${words.slice(0, room.one)}…` : words}`
}

/** The list of skills; and the number of those that did not fit. */
const offered = (skills: ReadonlyArray<SkillInfo>): string => {
  const lines: Array<string> = []
  let left = room.all
  for (const skill of skills) {
    const line = lineOf(skill)
    left -= line.length + 1
    if (left < 0) break
    lines.push(line)
  }
  const more = skills.length - lines.length
  return [description, "", "Skills:", ...lines, ...(more === 0 ? [] : [`(${more} more are not shown here.)`])].join(
    "\n"
  )
}

/** Makes `skill`. */
export const makeSkill: Effect.Effect<Tool<SkillInput>, never, Agent | FileSystem.FileSystem | Skill> = Effect.gen(
  function*() {
    const skills = yield* Skill
    const agents = yield* Agent
    const fs = yield* FileSystem.FileSystem

    const find = Effect.fnUntraced(function*({ name }: SkillInput, caller: ToolCaller) {
      const { broken, skills: all } = yield* skills.list(caller.directory)
      const found = all.find((each) => each.name === name)
      if (found !== undefined) return found
      const wrong = broken.find((each) => each.name === name)
      if (wrong !== undefined) {
        return yield* refuse("broken", `The skill ${name} cannot be used: ${wrong.message}. Go on without it.`)
      }
      const names = all.map((each) => each.name)
      const meant = nearest(name, names)
      return yield* refuse(
        "not_found",
        `There is no skill ${JSON.stringify(name)}. ${
          meant === undefined ? `Skills: ${names.join(", ")}` : `Did you mean ${meant}?`
        }`
      )
    })

    return define<SkillInput>({
      name: "skill",
      describe: Effect.fnUntraced(function*(caller) {
        const { skills: all } = yield* skills.list(caller.directory)
        if (all.length === 0) return undefined
        const rules = yield* Effect.match(agents.get(caller.agent), { onFailure: () => [], onSuccess: agents.rules })
        const allowed = all.filter(({ name }) => evaluate(rules, "skill", name) !== "deny")
        return allowed.length === 0 ? undefined : offered(allowed)
      }),
      parameters: Parameters,
      effect: "safe",
      title: ({ file, name }) => file === undefined ? name : `${name}/${file}`,
      authorise: (input, caller) =>
        Effect.map(find(input, caller), ({ name, origin }) => [
          { permission: "skill", patterns: [name], always: [name], metadata: { name, from: origin } }
        ]),
      execute: Effect.fnUntraced(function*(input, context) {
        const skill = yield* find(input, context)
        const metadata = { name: skill.name, from: skill.origin }
        if (input.file !== undefined) {
          const output = yield* readBeside(fs, skill, input.file)
          return { title: `${skill.name}/${input.file}`, output, metadata: { ...metadata, file: input.file } }
        }
        const files = yield* filesOf(fs, skill.folder)
        const beside = files.length === 0
          ? []
          : ["", `Files in its folder, ${skill.folder}:`, ...files.map((file) => `- ${file}`)]
        return { title: skill.name, output: [`Skill ${skill.name}:`, "", skill.text, ...beside].join("\n"), metadata }
      })
    })
  }
)
