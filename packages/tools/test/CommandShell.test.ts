/** Commands of the user over the real shell and real files: what arguments say never runs, and rules see what would. */
import { describe, expect, it } from "@effect/vitest"
import { Command } from "@skein/core/Command"
import { Session } from "@skein/core/Session"
import type { PermissionConfig } from "@skein/domain/Rule"
import * as SkeinTest from "@skein/testing/SkeinTest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as fs from "node:fs"
import { Workspace } from "./workspace.ts"

/** The texts of the prompt that a template becomes in a workspace with these files. */
const promptOf = (
  template: string,
  args: string,
  options: {
    readonly rules?: PermissionConfig
    readonly files?: Readonly<Record<string, string | Uint8Array>>
    readonly links?: Readonly<Record<string, string>>
  } = {}
) =>
  Effect.gen(function*() {
    const workspace = yield* Workspace
    for (const [path, content] of Object.entries(options.files ?? {})) workspace.write(path, content)
    for (const [path, target] of Object.entries(options.links ?? {})) fs.symlinkSync(target, workspace.at(path))
    const layer = SkeinTest.layer({ build: [] }, {
      tools: [...workspace.tools.values()],
      rules: options.rules ?? {},
      commands: () => Effect.succeed({ broken: [], commands: [{ name: "try", template, origin: "test", hides: [] }] })
    })
    const parts = yield* Effect.gen(function*() {
      const { id } = yield* Session.create({ directory: workspace.repo })
      const command = yield* Command
      return (yield* command.expand(id, { name: "try", arguments: args })).parts
    }).pipe(Effect.provide(layer))
    const left = fs.readdirSync(workspace.repo).filter((name) => name.startsWith("PWNED"))
    expect(left).toEqual([])
    return parts.map((part) => part.type === "text" ? part.text : part.type)
  }).pipe(Effect.provide(Layer.fresh(Workspace.layer)))

const files = { "notes.txt": "we don't know\n\"; touch PWNED; # here\n$(touch PWNED) there\n`touch PWNED`\n" }

describe("arguments in shell text", () => {
  it.effect.each<readonly [string, string]>([
    ["\"; touch PWNED; #", "notes.txt:\"; touch PWNED; # here"],
    ["$(touch PWNED)", "notes.txt:$(touch PWNED) there"],
    ["`touch PWNED`", "notes.txt:`touch PWNED`"],
    ["don't", "notes.txt:we don't know"]
  ])("%s reaches the program as one argument", ([args, found]) =>
    Effect.gen(function*() {
      const [text] = yield* promptOf("Found: !`grep -rF \"$ARGUMENTS\" .`", args, { files, rules: { read: "allow" } })
      expect(text).toBe(`Found: ./${found}`)
    }))

  it.effect("are seen by rules as what they are: a path that leads out is one", () =>
    Effect.gen(function*() {
      expect((yield* promptOf("!`cat $1`", "notes.txt", { files }))[0]).toContain("we don't know")
      expect((yield* promptOf("!`cat $1`", "/etc/hostname"))[0]).toMatch(/was not run: .*external_directory/)
      expect((yield* promptOf("!`cat $1`", ".env", { files: { ".env": "KEY=1" } }))[0]).toMatch(/was not run: .*read/)
    }))

  it.effect("in a line that is more than words and quotes are never allowed by a rule", () =>
    Effect.gen(function*() {
      const rules = { bash: "allow" } as const
      expect((yield* promptOf("!`echo $(echo $1)`", "x", { rules }))[0]).toMatch(/was not run/)
      expect((yield* promptOf("!`echo $(echo x)`", "", { rules }))[0]).toBe("x")
    }))
})

describe("a line that uses none of the arguments", () => {
  const rules: ReadonlyArray<PermissionConfig> = [{ bash: "allow" }, { bash: { "cat f1.txt": "allow" } }, {
    "*": "allow"
  }]

  it.effect.each(
    rules.flatMap((each) =>
      ["", "x", "two words", "$(touch PWNED)", "/etc/hostname"].map((args) => [args, each] as const)
    )
  )("is decided as it stands, with the arguments %j and the rules %j", ([args, each]) =>
    Effect.gen(function*() {
      const [text] = yield* promptOf("Found: !`cat f1.txt`", args, { files: { "f1.txt": "here" }, rules: each })
      expect(text).toBe(args === "" ? "Found: here" : `Found: here\n\n${args}`)
    }))

  it.effect("is decided as it stands also where substitutions and documents are in it", () =>
    Effect.gen(function*() {
      const rules = { bash: "allow" } as const
      expect((yield* promptOf("!`echo $(echo a) # $b`", "x", { rules }))[0]).toBe("a\n\nx")
      expect((yield* promptOf("!`cat <<A\nb\nA`", "x", { rules }))[0]).toBe("b\n\nx")
      // Nothing was typed for this place.
      expect((yield* promptOf("!`echo $(echo a)$2` for $1", "x", { rules }))[0]).toBe("a for x")
    }))

  it.effect("is asked for where a rule says so, and what is denied stays denied", () =>
    Effect.gen(function*() {
      expect((yield* promptOf("!`touch PWNED`", "x", { rules: { bash: { "*": "allow", "touch *": "deny" } } }))[0])
        .toMatch(/was not run/)
      expect((yield* promptOf("!`ls $@`", "/etc", { rules: { bash: { "*": "ask" } } }))[0]).toMatch(/was not run/)
      expect((yield* promptOf("!`cat $@`", "/etc/hostname", { rules: { bash: { "cat *": "allow" } } }))[0])
        .toMatch(/was not run/)
    }))
})

describe("what shell text writes", () => {
  it.effect("is bounded, and says how a command failed", () =>
    Effect.gen(function*() {
      const rules = { bash: "allow" } as const
      expect((yield* promptOf("A !`echo out; echo err >&2; false` B", "", { rules }))[0])
        .toBe("A out\nerr\n(exit code 1) B")
      const [long] = yield* promptOf("!`seq 1 100000`", "", { rules })
      expect(long!.length).toBeLessThan(60_000)
      expect(long).toMatch(/is in \/|all of it/i)
      expect((yield* promptOf("!`nosuchprogram`", "", { rules }))[0]).toContain("(exit code 127)")
    }))
})

describe("files", () => {
  it.effect("come as the tool read shows them: with numbers, directories, images, and links as what they lead to", () =>
    Effect.gen(function*() {
      const png = new Uint8Array(Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"))
      const shown = yield* promptOf("@notes.txt @src @a.png @big.txt", "", {
        files: { ...files, "src/a.ts": "x", "a.png": png, "big.txt": "line\n".repeat(200_000) }
      })
      expect(shown[1]).toContain("     1\twe don't know")
      expect(shown[2]).toContain("a.ts")
      expect(shown[4]).toBe("file")
      expect(shown[5]!.length).toBeLessThan(60_000)
    }))

  it.effect("that lie outside are asked for", () =>
    Effect.gen(function*() {
      expect((yield* promptOf("@/etc/hostname", ""))[1]).toMatch(/not attached: .*external_directory/)
      expect((yield* promptOf("@link", "", { links: { link: "/etc/hostname" } }))[1]).toMatch(
        /not attached: .*external_directory/
      )
      expect((yield* promptOf("@$1", "../../../../etc/hostname"))[1]).toMatch(/not attached: .*external_directory/)
    }))
})
