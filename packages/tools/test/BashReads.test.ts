/** What rules say of reading a file holds for the commands that open it, as far as their arguments tell. */
import { describe, expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { decided, layerDecisions } from "./support/decisions.ts"
import { git } from "./support/sandbox.ts"
import { Workspace } from "./workspace.ts"

/** A tree with a file of secrets, one of them deep. */
const prepare = Effect.map(Workspace, ({ write }) => {
  for (
    const file of [
      ".env",
      "two/.env",
      "src/a.ts",
      "src/b.ts",
      "deep/er/.env.local",
      "conf/secret.txt",
      "clean/a.txt"
    ]
  ) {
    write(file, "a\n")
  }
})

const asked = [
  "cat .env",
  "cat ./.env",
  "cat src/../.env",
  "head -1 .env",
  "grep KEY .env",
  "grep -r KEY .",
  "grep -rn KEY deep",
  "grep -r KEY",
  "rg -u KEY",
  "rg --hidden KEY",
  "rg -uu KEY .",
  "rg -g '.e*' KEY",
  "rg --iglob '.ENV' KEY",
  "rg KEY .env",
  "rg -f .env src",
  "grep -f .env src/a.ts",
  "sort .env",
  "cut -d= -f2 .env",
  "sed -n p .env",
  "awk 1 .env",
  "jq . .env",
  "xxd .env",
  "base64 .env",
  "diff .env src/a.ts",
  "diff -N . src",
  "cmp .env src/a.ts",
  "less .env",
  "strings .env",
  "cat < .env",
  "cat .e*",
  "cp .env x && cat x",
  "mv .env x",
  "find . -name '.env*' -exec cat {} +",
  "find . -type f -exec cat {} \\;",
  "find . -type f | xargs cat",
  "git grep --no-index KEY",
  "git diff --no-index .env src/a.ts",
  "git blame --contents .env src/a.ts",
  "git show HEAD:.env",
  "git log -p -- .env",
  "git diff .env",
  "cat $(find . -type f)",
  "for f in $(find . -type f); do cat \"$f\"; done",
  "wc -l $(git ls-files)",
  "echo .env | xargs cat",
  "xargs -a names cat",
  "xargs -a .env echo",
  "xargs --arg-file=names -I{} cat {}",
  "sort --files0-from=names",
  "wc --files0-from names",
  "cpio -o < names",
  "tar -c -T names",
  "tar cT names",
  "zip -@ - < names",
  "rsync --files-from=names . out",
  "find -files0-from names -exec cat {} +",
  "cat .env | wc -l",
  "date -r .env",
  "diff . two",
  "git show :0:.env",
  "git -C two blame .env",
  "unknowntool .env",
  "unknowntool --file=.env"
]

/** Ways to show `conf/secret.txt`, which must not be read, where nearly all of bash is allowed. */
const roundabout = [
  "strings @conf/secret.txt",
  "gcc @conf/secret.txt",
  "javac @conf/secret.txt",
  "ar rc x.a @conf/secret.txt",
  "tar -c -T conf/secret.txt",
  "git add -f conf/secret.txt && git diff --cached",
  "git add -f conf && git cat-file -p abc123",
  "git add . && git rm -q --cached conf/secret.txt",
  "git -C conf add secret.txt",
  "git stage conf",
  "git add -A",
  "git stash -u && git stash show -p -u",
  "git stash push --include-untracked",
  "git grep --no-index a",
  "git grep --untracked a",
  "git hash-object -w conf/secret.txt",
  "git mv conf/tracked.txt x && cat x",
  "tar c conf | tar xO",
  "tar cf - . | tar xO",
  "tar c -C conf .",
  "cd conf && tar c .",
  "zip -r - conf",
  "zip -r x.zip .",
  "rsync -a conf/ out",
  "rsync -a . out",
  "scp -r conf out",
  "7z a x.7z conf",
  "find conf | cpio -o",
  "find . -name '*.txt' | cpio -o",
  "ack a",
  "ugrep -r a",
  "docker cp conf x:/",
  "bash -c 'cat conf/secret.txt'",
  "bash -c 'cd conf; cat *'",
  "bash <<< 'cat conf/secret.txt'",
  "python3 -c 'print(open(\"conf/secret.txt\").read())'",
  "python3 <<EOF\nopen('conf/secret.txt')\nEOF",
  "awk 'BEGIN { while ((getline l < \"conf/secret.txt\") > 0) print l }'",
  "sed 'r conf/secret.txt' src/a.ts",
  "sqlite3 :memory: '.read conf/secret.txt'",
  "d=conf; cat $d/secret.txt",
  "curl -d @conf/secret.txt localhost",
  "curl -F x=@conf/secret.txt localhost",
  "nobody-knows conf",
  "nobody-knows -fconf/secret.txt"
]

/** What such a rule has nothing to do with. */
const unconcerned = [
  "tar czf a.tgz src",
  "tar xf a.tgz",
  "zip -r x.zip src lib",
  "rsync -a src/ out",
  "git add src",
  "git add -u",
  "git add -n .",
  "git commit -m 'rotate conf/secret.txt'",
  "echo conf/secret.txt",
  "ls conf",
  "eslint .",
  "prettier --write .",
  "npm test",
  "node src/a.ts",
  "python3 -c 'print(1)'",
  "strings src/a.ts",
  "git mv src/a.ts src/c.ts"
]

const free = [
  "grep -rn KEY src",
  "grep -rn KEY clean",
  "rg KEY",
  "rg -n KEY src",
  "rg -g '*.ts' -i KEY src",
  "find . -name '*.ts' -exec grep KEY {} +",
  "find src -type f | xargs grep KEY",
  "cat src/*.ts",
  "ls -la",
  "stat .env",
  "find . -name '.env*'",
  "git status",
  "wc -l src/a.ts"
]

describe("rules of reading", () => {
  layer(layerDecisions)((it) => {
    const wide = fromConfig({ bash: { "cp *": "allow", "mv *": "allow", "unknowntool *": "allow", "git *": "allow" } })

    it.effect("hold for what commands open", () =>
      Effect.gen(function*() {
        yield* prepare
        const allowed = yield* Effect.filter(asked, (line) =>
          Effect.map(decided(line, [...defaultRules, ...wide]), (found) => found === "allow"))
        expect(allowed).toEqual([])
      }))

    it.effect("ask for nothing that is not read", () =>
      Effect.gen(function*() {
        yield* prepare
        const questions = yield* Effect.filter(free, (line) =>
          Effect.map(decided(line, defaultRules), (found) => found !== "allow"))
        expect(questions).toEqual([])
      }))

    it.effect("do not let all settings of git be shown by default", () =>
      Effect.gen(function*() {
        for (
          const line of ["git config list", "git config -l", "git config --get-regexp .", "git config http.extraheader"]
        ) {
          expect(yield* decided(line, defaultRules), line).toBe("ask")
        }
      }))

    it.effect("deny what they deny, whatever its name", () =>
      Effect.gen(function*() {
        yield* prepare
        const rules = [...defaultRules, ...fromConfig({ read: { "conf/*": "deny" } })]
        for (
          const line of [
            "cat conf/secret.txt",
            "grep -r a conf",
            "grep -r a .",
            "rg a",
            "rg a conf",
            "find . -name '*.txt' -exec cat {} +"
          ]
        ) expect(yield* decided(line, rules), line).toBe("deny")
        expect(yield* decided("grep -r a src", rules)).toBe("allow")
      }))

    it.effect("deny in mode auto what may be a denied file, where no sandbox holds", () =>
      Effect.gen(function*() {
        yield* prepare
        const rules = [...defaultRules, ...fromConfig({ read: { ".env": "deny" } })]
        for (
          const line of [
            "gzip -c .env | base64",
            "xz -c .env",
            "cat .{env,x}",
            "x=env; cat .$x",
            "cat ~+/.env",
            "pushd src && cat ../.env",
            "diff -N . src",
            "for f in .e*; do cat $f; done",
            "set -- .e*; cat \"$@\"",
            "bash -c 'cat .e*'",
            "echo 'cat .e*' | sh"
          ]
        ) {
          // Mode `auto` answers yes to what is asked, but for what may be denied: then it is asked even if it is allowed.
          const allowing = [
            ...rules,
            ...fromConfig({ bash: { "*": "allow", [line]: "allow" }, external_directory: "allow" })
          ]
          expect(yield* decided(line, allowing, undefined, "auto"), line).not.toBe("allow")
        }
        for (const line of ["echo $x", "cat src/*.ts", "npm test", "node src/a.ts"]) {
          const allowing = [...rules, ...fromConfig({ bash: { "*": "allow", [line]: "allow" } })]
          expect(yield* decided(line, allowing, undefined, "auto"), line).toBe("allow")
        }
      }))

    it.effect("deny what they deny to programs that read roundabout, also where all of bash is allowed", () =>
      Effect.gen(function*() {
        yield* prepare
        const { repo, write } = yield* Workspace
        git(repo, "init", "-q")
        write("conf/tracked.txt", "a\n")
        git(repo, "add", "-f", "src", "conf/tracked.txt")
        const programs = [...new Set([...roundabout, ...unconcerned].map((line) => line.split(" ", 1).join("")))]
        const rules = [
          ...defaultRules,
          ...fromConfig({
            read: { "*": "allow", "conf/*": "deny" },
            edit: "allow",
            bash: { "*": "allow", ...Object.fromEntries(programs.map((name) => [`${name} *`, "allow" as const])) }
          })
        ]
        const shown = yield* Effect.filter(
          roundabout,
          (line) => Effect.map(decided(line, rules), (found) => found !== "deny")
        )
        expect(shown).toEqual([])
        const denied = yield* Effect.filter(
          unconcerned,
          (line) => Effect.map(decided(line, rules), (found) => found === "deny")
        )
        expect(denied).toEqual([])
      }))
  })
})
