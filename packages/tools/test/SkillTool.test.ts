import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { describe, expect, it } from "@effect/vitest"
import { Skill, type SkillInfo, type SkillList } from "@skein/core/Instructions"
import { Session } from "@skein/core/Session"
import { Tools } from "@skein/core/Tool"
import * as Scripted from "@skein/testing/ScriptedProvider"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Workspace from "@skein/testing/Workspace"
import { makeSkill } from "@skein/tools/SkillTool"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as fs from "node:fs"

const skill = (name: string, folder = "/nowhere", more: Partial<SkillInfo> = {}): SkillInfo => ({
  name,
  description: `For ${name}`,
  text: `How to ${name}`,
  folder,
  origin: `${folder}/SKILL.md`,
  hides: [],
  ...more
})

/** What a session is offered of `skill`, and what its calls of it come to. */
const using = Effect.fnUntraced(function*(
  list: SkillList,
  calls: ReadonlyArray<object>,
  options: SkeinTest.SkeinTestOptions = {},
  directory = "/work"
) {
  const script = Scripted.make({ build: [Scripted.call("skill", ...calls), "Done."] })
  const stack = Layer.scopedDiscard(
    Effect.flatMap(Tools, (tools) => Effect.flatMap(makeSkill, tools.register))
  ).pipe(
    Layer.provide(Skill.layer(() => Effect.succeed(list))),
    Layer.provide(NodeFileSystem.layer),
    Layer.provideMerge(SkeinTest.layer(script, options))
  )
  return yield* Effect.gen(function*() {
    const { id } = yield* Session.create({ directory, title: "Test" })
    yield* Session.prompt(id, "Go")
    const messages = yield* Effect.flatMap(Session, (session) => session.messages(id))
    return {
      offered: script.requests[0]?.tools.find(({ name }) => name === "skill")?.description,
      told: messages.flatMap(({ parts }) => parts).flatMap((part) =>
        part.type !== "tool"
          ? []
          : part.state.status === "completed"
          ? [part.state.output]
          : part.state.status === "error"
          ? [part.state.error.message]
          : []
      )
    }
  }).pipe(Effect.provide(stack))
})

const all = (...skills: ReadonlyArray<SkillInfo>): SkillList => ({ skills, broken: [] })

describe("skill", () => {
  it.scoped("hands out a skill with the files beside it, and one of those; nothing that lies elsewhere", () =>
    Effect.gen(function*() {
      const { at, directory } = yield* Workspace.make({
        "release/SKILL.md": "x",
        "release/scripts/run.sh": "echo run\n",
        "release/.hidden": "x",
        "release/node_modules/a.js": "x",
        "release/image.bin": new Uint8Array([0, 1, 2]),
        "secret.txt": "s3cret"
      })
      fs.symlinkSync(at("secret.txt"), at("release/link.txt"))
      const folder = at("release")
      const { offered, told } = yield* using(
        all(skill("release", folder)),
        [
          { name: "release" },
          { name: "release", file: "scripts/run.sh" },
          { name: "release", file: "../secret.txt" },
          { name: "release", file: "link.txt" },
          { name: "release", file: at("secret.txt") },
          { name: "release", file: "image.bin" },
          { name: "release", file: "scripts" },
          { name: "release", file: "no.txt" }
        ],
        {},
        directory
      )
      expect(offered).toMatch(/^Gives you a skill: [^]*\n\nSkills:\n- release: For release$/)
      expect(told[0]).toBe(
        `Skill release:\n\nHow to release\n\nFiles in its folder, ${folder}:\n- image.bin\n- scripts/run.sh`
      )
      expect(told[1]).toBe("echo run\n")
      for (const refused of told.slice(2, 5)) expect(refused).toContain("is not in the folder of the skill release")
      expect(told.slice(5)).toEqual([
        expect.stringContaining("is not text in UTF-8"),
        expect.stringContaining("is not a file"),
        expect.stringContaining("does not exist")
      ])
    }))

  it.effect("goes by the permission skill with the name as pattern, and does not offer what is denied", () =>
    Effect.gen(function*() {
      const { offered, told } = yield* using(
        all(skill("deploy"), skill("release"), skill("test")),
        [{ name: "deploy" }, { name: "release" }, { name: "test" }],
        { rules: { skill: { deploy: "deny", release: "ask" } } }
      )
      expect(offered).toContain("Skills:\n- release: For release\n- test: For test")
      expect(told).toEqual([
        expect.stringContaining("a rule forbids skill (deploy)"),
        expect.stringContaining("skill (release) needs a person's consent"),
        "Skill test:\n\nHow to test"
      ])
      expect((yield* using(all(skill("deploy")), [{ name: "deploy" }], { rules: { skill: "deny" } })).offered)
        .toBeUndefined()
    }))

  it.effect("is not offered where there are no skills, and says of a name that it does not know which there are", () =>
    Effect.gen(function*() {
      expect((yield* using(all(), [{ name: "x" }])).offered).toBeUndefined()
      const list = { skills: [skill("release")], broken: [{ name: "bad", message: "bad/SKILL.md:2: unknown key" }] }
      const { told } = yield* using(list, [{ name: "relaese" }, { name: "bad" }, { name: "zzz" }])
      expect(told).toEqual([
        "There is no skill \"relaese\". Did you mean release?",
        "The skill bad cannot be used: bad/SKILL.md:2: unknown key. Go on without it.",
        "There is no skill \"zzz\". Skills: release"
      ])
    }))

  it.effect("offers as many as there is room for, each in one line", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: 60 }, (_, i) =>
        skill(`s${String(i).padStart(2, "0")}`, "/x", { description: `${"long ".repeat(80)}\n\nevil` }))
      const { offered = "" } = yield* using(all(...many), [{ name: "s00" }])
      expect(offered.length).toBeLessThan(9_000)
      const lines = offered.split("\n").filter((line) =>
        line.startsWith("- s")
      )
      expect(offered).toContain(`(${60 - lines.length} more are not shown here.)`)
      expect(lines[0]).toMatch(/^- s00: (long ){59}long…$|^- s00: (long ?)+…$/)
    }))
})

it.effect("skills are looked for again after half a minute, and not before", () => {
  let looked = 0
  return Effect.gen(function*() {
    const skills = yield* Skill
    yield* skills.list("/a")
    yield* skills.list("/a")
    yield* skills.list("/b")
    expect(looked).toBe(2)
    yield* TestClock.adjust("31 seconds")
    yield* skills.list("/a")
    expect(looked).toBe(3)
  }).pipe(Effect.provide(Skill.layer(() => Effect.sync(() => ({ skills: [], broken: [], looked: looked++ })))))
})
