/** Ways in which programs that a wildcard allows were made to run, write or read something else. */
import { describe, expect, layer } from "@effect/vitest"
import { defaultRules } from "@skein/core/Agent"
import { fromConfig } from "@skein/domain/Rule"
import * as Effect from "effect/Effect"
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import { describeDecisions } from "./support/bashClasses.ts"
import { decided, layerDecisions } from "./support/decisions.ts"
import { Workspace } from "./workspace.ts"

describeDecisions("lines of an output, files that nobody knows, and what only looks like a list", "ask", [
  "find src -type f | while read -r f; do rm \"$f\"; done",
  "echo a | while read -r f; do cat \"$f\"; done",
  "find src -type f | while read -r f; do read -r f; cat \"$f\"; done",
  "find src -type f | while read -r f; do f=x; cat \"$f\"; done",
  "find src -type f | while read -r f g; do cat \"$g\"; done",
  "find src -type f | while read -u 3 f; do cat \"$f\"; done",
  "find src -type f | while read -r f; do $f; done",
  "find src -type f | while read -r f; do git \"$f\"; done",
  "ls -al src | xargs cat",
  "ls -F src | xargs cat",
  "IFS=x sort $a",
  "make CFLAGS=-x",
  "export GIT_SSH=x",
  "git submodule foreach ls",
  "git submodule update",
  "git bisect run x",
  "git apply x.patch",
  "git notes merge x",
  "pip list --outdated",
  "npm ls --prefix x",
  "python3 -v",
  "pnpm --dir x test"
])

describeDecisions("lists of what is outside", "deny", [
  "ls /etc | xargs cat",
  "ls link/* | xargs cat",
  "ls */passwd | xargs cat",
  "ls ../x | xargs cat",
  "find link/ -type f | while read -r f; do cat \"$f\"; done"
])

describeDecisions("lists of what is inside", "allow", [
  "find src -type f | while read -r f; do head -1 \"$f\"; done",
  "cat a.txt | while IFS= read -r line; do echo \"$line\"; done",
  "export FOO=bar; git status",
  "make V=1 test",
  "git revert --no-edit HEAD",
  "git submodule status"
])

describeDecisions("programs that run another by a word, an option or a file", "ask", [
  "rustc @x",
  "x='@a.txt'; curl -H \"$x\" example.com",
  "x='%output{y}'; curl -w \"$x\" example.com",
  "curl -H \"X: $x\" -w \"$x\" example.com",
  "pnpm sh",
  "echo x | pnpm bash",
  "pnpm --filter a tsx -e 1",
  "yarn tsx",
  "yarn run tsx",
  "yarn plugin import ./x.js",
  "yarn set version ./x.js",
  "yarn policies set-version ./x.js",
  "yarn workspace a exec x",
  "yarn workspace a tsx",
  "yarn workspaces foreach exec x",
  "npm -w a exec x",
  "npm --loglevel silent exec x",
  "npm --workspace=a x y",
  "npm c set x y",
  "npm pkg set scripts.test=x",
  "npm edit x",
  "npm ln ./x",
  "npm brandnew x",
  "node --test --import data:text/javascript,1",
  "node --test --require ./x.js",
  "node --test --test-reporter=./x.js",
  "node --test a.js --import ./x.js",
  "git push --repo=./x",
  "git push --repo ./x main",
  "cargo build --target x.json",
  "cargo build --target=./x.json",
  "mypy --python-executable ./x src",
  "mypy --config-file x.ini src",
  "cp -b -S .json a.txt skein",
  "cp --backup=simple --suffix=.json a.txt skein",
  "mv -bS.json a.txt skein",
  "ln -b -S .json a.txt skein",
  "gunzip skein.json.gz",
  "gzip -d skein.json.gz",
  "gzip -dk skein.json.gz",
  "xz --decompress skein.json.xz",
  "wget example.com/skein.json",
  "wget -q https://example.com/.envrc",
  "wget example.com/skein%2ejson",
  "wget example.com/x/%2Egit",
  "LC_ALL=/x/y ls",
  "LC_MESSAGES=../x ls",
  "LANG=./x git log",
  "TZ=/etc/hosts date",
  "TZ=:x date",
  "env LC_ALL=/x ls",
  "export LC_ALL=/x",
  "export LC_ALL=$x"
])

describeDecisions("the same programs doing what they are for", "allow", [
  "curl -H \"Authorization: Bearer $TOKEN\" example.com",
  "curl -w '%{http_code}' example.com",
  "rustc a.txt",
  "pnpm build",
  "pnpm run gen",
  "pnpm -r test",
  "pnpm --filter a build",
  "pnpm test:unit",
  "pnpm add -D vitest",
  "yarn",
  "yarn build",
  "yarn lint:fix",
  "yarn workspace a build",
  "yarn run test",
  "npm -w a run build",
  "npm t",
  "npm i",
  "npm view react version",
  "node --test",
  "node --test --test-name-pattern=x --test-reporter=spec",
  "node --test a.js",
  "git push -u origin main",
  "cargo build --target x86_64-unknown-linux-gnu",
  "mypy --strict src",
  "gunzip -c a.txt",
  "gzip -l a.txt",
  "gzip a.txt",
  "xz -t a.txt",
  "wget https://example.com/a/x.tgz",
  "wget example.com",
  "TZ=Europe/Berlin date",
  "LC_ALL=en_US.UTF-8 ls",
  "LANG= ls"
])

describeDecisions("variables that no tool is known to go by", "allow", [
  "FOO=bar npm test",
  "FOO=bar BAZ=1 npm run build",
  "DEBUG=app:* npm test",
  "PORT=3000 npm start",
  "LOG_LEVEL=debug cargo test",
  "VERBOSE=1 go test ./...",
  "FOO='bar' npm test",
  "env FOO=bar npm test"
])

describeDecisions("variables that tools go by, and values that may be more than a word", "ask", [
  "LD_PRELOAD=x npm test",
  "NODE_OPTIONS=x npm test",
  "PATH=x npm test",
  "GIT_DIR=x npm test",
  "BASH_ENV=x npm test",
  "PYTHONPATH=x npm test",
  "PYTEST_ADDOPTS=x npm test",
  "npm_config_script_shell=x npm test",
  "RUSTC_WRAPPER=x cargo build",
  "CARGO_BUILD_RUSTC=x cargo build",
  "CC=x cargo build",
  "GOFLAGS=x go test ./...",
  "JAVA_TOOL_OPTIONS=x npm test",
  "EDITOR=x git commit",
  "SHELL=x npm test",
  "MY_COMMAND=x npm test",
  "FOO=./x npm test",
  "FOO=/x npm test",
  "FOO='a b' npm test",
  "FOO=-x npm test",
  "FOO=$x npm test",
  "FOO=$(cat a.txt) npm test",
  "FOO=x make"
])

describeDecisions("words that the shell would join with what stands before them", "ask", [
  "cat < !<(ls)",
  "cat < a.txt<(ls)",
  "cat <<< a<(ls)",
  "ls > x<(ls)",
  "ls 2>/dev/null<(ls)"
])

/** Rules of somebody who lets a model change the tree, but for some of it. */
const rules = [
  ...defaultRules,
  ...fromConfig({
    read: { "*": "allow", "*.env": "deny", "secrets/*": "deny" },
    edit: { "*": "allow", "migrations/*": "deny", "asked/*": "ask" },
    external_directory: "deny",
    bash: Object.fromEntries(
      "cp mv rm ln mkdir rmdir touch chmod git tee truncate shred unlink wget gzip".split(" ").map((name) => [
        `${name} *`,
        "allow" as const
      ])
    )
  })
]

const prepare = Effect.map(Workspace, ({ at, repo, write }) => {
  if (fs.existsSync(at("a.txt"))) return
  const files = [
    "a.txt",
    "src/a.ts",
    "src/b.ts",
    "lib/a.ts",
    "guarded/.vscode/settings.json",
    "guarded/a.txt",
    "secrets/deep/k.txt",
    "conf/.env",
    "migrations/1.sql",
    "asked/x",
    "build/x",
    "node_modules/x/.vscode/settings.json"
  ]
  for (const file of files) write(file, "a\n")
  fs.symlinkSync("/etc/hostname", at("lib/link"))
  execFileSync("git", ["init", "-q", repo])
})

const cases = [
  ["a directory with protected names in it", "ask", [
    "rm -rf guarded",
    "rm -rf src/../guarded",
    "rm -rf \"$PWD\"",
    "mv guarded x",
    "cp -r guarded/. .",
    "cp -r guarded x",
    "cp -a -t src guarded",
    "chmod -R 000 guarded",
    "git rm -r guarded",
    "git mv guarded x"
  ]],
  ["a directory with files that must not be read", "deny", [
    "mv secrets x",
    "mv secrets/deep x",
    "git mv secrets x",
    "cp -r secrets x",
    "ln secrets/deep/k.txt x"
  ]],
  ["what must not be edited", "deny", [
    "rm migrations/1.sql",
    "rm -rf migrations",
    "mv migrations/1.sql src",
    "mv migrations x",
    "mv src migrations",
    "mv src/a.ts migrations/",
    "cp src/a.ts migrations/2.sql",
    "cp src/a.ts migrations",
    "cp -t migrations src/a.ts",
    "ln src/a.ts migrations/x",
    "touch migrations/x",
    "mkdir migrations/x",
    "rmdir migrations/x",
    "chmod 600 migrations/1.sql",
    "chmod -R 600 .",
    "truncate -s 0 migrations/1.sql",
    "shred migrations/1.sql",
    "unlink migrations/1.sql",
    "tee migrations/x",
    "git rm migrations/1.sql",
    "git mv migrations/1.sql x",
    "git mv src/a.ts migrations",
    "git checkout HEAD -- migrations/1.sql",
    "git restore migrations/1.sql",
    "gzip migrations/1.sql",
    "git ls-files | xargs rm",
    "cd migrations && rm 1.sql",
    "rm mig*/1.sql",
    "rm -rf build migrations",
    "rm -rf ../repo",
    "rm -r ."
  ]],
  ["what is asked for before it is edited", "ask", [
    "rm asked/x",
    "mv asked x",
    "cp a.txt asked/y",
    "find migrations -exec rm {} +"
  ]],
  ["what may be edited", "allow", [
    "rm -rf build",
    "rm -rf node_modules",
    "rm src/a.ts",
    "mv src x",
    "mv conf x",
    "cp -r src x",
    "rm -f build/*",
    "cp src/a.ts src/c.ts",
    "mkdir -p new/dir",
    "touch new.txt",
    "chmod +x src/a.ts",
    "git rm src/a.ts",
    "git mv src/a.ts src/c.ts"
  ]],
  ["directories that are compared with their links", "deny", ["diff src lib", "diff lib src", "sdiff src lib"]]
] as const

describe("what changes files of the tree", () => {
  layer(layerDecisions)((it) => {
    it.effect.each(cases.map((each) => [...each] as const))("%s: %s", ([, expected, lines]) =>
      Effect.gen(function*() {
        yield* prepare
        const strange: Array<string> = []
        for (const line of lines) {
          const found = yield* decided(line, rules)
          if (found !== expected) strange.push(`${found}: ${line}`)
        }
        expect(strange).toEqual([])
      }))
  })
})
