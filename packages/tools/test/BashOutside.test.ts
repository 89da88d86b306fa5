/** Rules for reading and changing files bind the operands of commands outside the project as they do in it. */
import { expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import type { PermissionConfig } from "@skein/domain/Rule"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { decided, layerDecisions } from "./support/decisions.ts"
import { Workspace } from "./workspace.ts"

/** Rules that allow every program that the lines name, and what lies outside. */
const rulesFor = (lines: ReadonlyArray<string>, more: Extract<PermissionConfig, object>) => [
  ...defaultRules,
  ...fromConfig({
    external_directory: "allow",
    edit: "allow",
    bash: {
      "*": "allow",
      ...Object.fromEntries(lines.map((line) => [line, "allow" as const])),
      ...Object.fromEntries(lines.map((line) => [`${line.split(" ", 1).join("")} *`, "allow" as const]))
    },
    ...more
  })
]

const outcomes = (lines: ReadonlyArray<string>, rules: ReturnType<typeof rulesFor>, ...more: [mode?: "auto"]) =>
  Effect.map(
    Effect.forEach(lines, (line) => Effect.map(decided(line, rules, more[0]), (found) => [line, found] as const)),
    (all) => Object.fromEntries(all)
  )

const all = (lines: ReadonlyArray<string>, action: string) => Object.fromEntries(lines.map((line) => [line, action]))

const reading = [
  "cat ../out/s.txt",
  "cd ../out && cat s.txt",
  "head -1 ../out/d/s.txt",
  "cat ../out/*.txt",
  "grep -r SECRET ../out",
  "grep --unknown -r SECRET ../out",
  "rg SECRET ../out",
  "diff -N ../out src",
  "cp ../out/s.txt x",
  "mv ../out/s.txt x",
  "gzip -c ../out/s.txt",
  "tar cf - ../out",
  "base64 < ../out/s.txt",
  "python3 -c 'open(\"../out/s.txt\")'",
  "find ../out -name '*.txt' -exec cat {} +"
]

const changing = [
  "echo x > ../out/1",
  "touch ../out/1",
  "cp a.txt ../out/2",
  "cp a.txt ../out",
  "cp -t ../out a.txt",
  "mv a.txt ../out/5",
  "mv ../out/s.txt x",
  "ln -s /x ../out/6",
  "mkdir ../out/7",
  "dd if=a.txt of=../out/8",
  "install -m 644 a.txt ../out/11",
  "rsync a.txt ../out/12",
  "tar cf ../out/13 a.txt",
  "tar -czf ../out/13 a.txt",
  "tar xf a.tar -C ../out",
  "unzip -d ../out x.zip",
  "zip ../out/x.zip a.txt",
  "sort a.txt -o ../out/15",
  "curl -o ../out/16 localhost",
  "wget -O ../out/17 localhost",
  "truncate -s0 ../out/18",
  "sed -i s/a/b/ ../out/s.txt",
  "rm ../out/s.txt",
  "rm -rf ../out",
  "gzip ../out/s.txt",
  "git init ../out/10"
]

const prepare = Effect.map(Workspace, ({ top, write }) => {
  for (const file of ["a.txt", "src/a.ts", "../out/s.txt", "../out/d/s.txt", "../free/a.txt"]) write(file, "a\n")
  return `${top}/w/out`
})

layer(layerDecisions)((it) => {
  it.effect("a denied file outside is not read, with and without a sandbox", () =>
    Effect.gen(function*() {
      const out = yield* prepare
      const rules = rulesFor(reading, { read: { "*": "allow", [`${out}/*`]: "deny" } })
      expect(yield* outcomes(reading, rules)).toEqual(all(reading, "deny"))
      // What a search finds is hidden from a confined command.
      const named = reading.filter((line) => !/ -r |^rg|tar|-N|find|\*|^python/.test(line))
      expect(yield* outcomes(named, rules, "auto")).toEqual(all(named, "deny"))
      expect(yield* decided("cat ../free/a.txt", rules)).toBe("allow")
      expect(yield* decided("grep -r a ../free", rules)).toBe("allow")
    }))

  it.effect("a file outside that a rule asks about is asked about", () =>
    Effect.gen(function*() {
      const out = yield* prepare
      const rules = rulesFor(reading, { read: { "*": "allow", [`${out}/*`]: "ask" } })
      expect(yield* decided("cat ../out/s.txt", rules)).toBe("ask")
      expect(yield* decided("cat ../out/s.txt", rules, "edits")).toBe("ask")
    }))

  it.effect("a denied file outside is not changed, with and without a sandbox", () =>
    Effect.gen(function*() {
      const out = yield* prepare
      const rules = rulesFor(changing, { edit: { "*": "allow", [`${out}/*`]: "deny" } })
      expect(yield* outcomes(changing, rules)).toEqual(all(changing, "deny"))
      expect(yield* outcomes(changing, rules, "auto")).toEqual(all(changing, "deny"))
      const free = [
        "cp ../out/s.txt x",
        "touch ../free/b",
        "cat ../out/s.txt",
        "rm ../free/a.txt",
        "tar cf x.tar ../out"
      ]
      expect(yield* outcomes(free, rulesFor(free, { edit: { "*": "allow", [`${out}/*`]: "deny" } }))).toEqual(
        all(free, "allow")
      )
    }))

  it.effect("a pattern stands outside for the files that it matches", () =>
    Effect.gen(function*() {
      const out = yield* prepare
      const shown = [
        "cat ../ou*/s.txt",
        "cat ../o?t/s.txt",
        "cat ../o[u]t/s.txt",
        "cat ../o{u,x}t/s.txt",
        `cat ${out}*/s.txt`,
        `cat ${out.slice(0, -1)}*/d/*`,
        "cd .. && cat ou*/s.txt",
        "cat < ../ou*/s.txt",
        "grep a ../o*/*"
      ]
      const changed = [
        "rm ../ou*/s.txt",
        "tee ../ou*/s.txt < a.txt",
        "cp a.txt ../ou?/s.txt",
        "sed -i 1i#x ../ou*/s.txt",
        "mv ../ou* x",
        "touch ../out/{new,newer}",
        "echo x > ../ou*/s.txt"
      ]
      const forbidden = {
        read: { "*": "allow", [`${out}/*`]: "deny" },
        edit: { "*": "allow", [`${out}/*`]: "deny" }
      } as const
      const rules = rulesFor([...shown, ...changed], forbidden)
      expect(yield* outcomes([...shown, ...changed], rules)).toEqual(all([...shown, ...changed], "deny"))
      expect(yield* decided("cat ../fre*/a.txt", rules)).toBe("allow")
    }))

  it.effect("a pattern or braces outside that lead to a protected name are asked about", () =>
    Effect.gen(function*() {
      yield* prepare
      const { write } = yield* Workspace
      write("../free/.git/config", "x\n")
      write("../free/.git/hooks/a", "x\n")
      const lines = [
        "sed -i 1i#x ../free/.gi*/config",
        "cp a.txt ../free/.g*/hooks/",
        "rm ../free/.gi*/config",
        "touch ../free/.envr{c,x}",
        "touch .envr{c,x}",
        "touch ../free/.git/hooks/{b,c}"
      ]
      const { asks } = yield* Workspace
      for (const line of lines) {
        const found = yield* asks("bash", { command: line })
        expect(found.some(({ permission, protected: isKept }) => permission === "edit" && isKept === true), line).toBe(
          true
        )
      }
    }))

  it.effect("a protected name cannot be copied from outside unasked", () =>
    Effect.gen(function*() {
      yield* prepare
      const { write } = yield* Workspace
      write("../free/.envrc", "x\n")
      write("../free/sub/.vscode/settings.json", "x\n")
      for (
        const line of [
          "cp ../free/.envrc .",
          "mv ../free/.envrc .",
          "cp -r ../free/sub/.vscode .",
          "cp -r ../free/sub/. ."
        ]
      ) {
        expect(yield* decided(line, rulesFor(["cp *", "mv *"], {})), line).toBe("ask")
      }
    }))
})
