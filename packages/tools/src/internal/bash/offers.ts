/** Decides what the answer `always` stores for a command line: a rule for each program of it, no wider than is useful. */
import type { Invocation, Parts } from "./takeApart.ts"

/** Programs whose first words say what they do, and after how many words that is said. */
const subcommands: Readonly<Record<string, number>> = {
  apt: 1,
  brew: 1,
  bundle: 1,
  cargo: 1,
  composer: 1,
  dotnet: 1,
  gh: 2,
  git: 1,
  go: 1,
  gradle: 1,
  kubectl: 1,
  mvn: 1,
  npm: 1,
  "npm run": 2,
  pip: 1,
  pnpm: 1,
  "pnpm run": 2,
  poetry: 1,
  rustup: 1,
  terraform: 1,
  uv: 1,
  yarn: 1,
  "yarn run": 2
}

/** Programs that change or send so much by their arguments that each call of them is a matter of its own. */
const weighty = new Set(
  `chgrp chmod chown cp curl install kill killall ln mkdir mv pkill rm rmdir rsync tee touch truncate wget`.split(/\s+/)
)

const isWord = (text: string | undefined): text is string => text !== undefined && /^[\w:@.-]+$/.test(text)

const ruleFor = ({ args, pattern, program, risk }: Invocation): string => {
  if (risk !== undefined || weighty.has(program)) return pattern
  const [first] = args
  const words = subcommands[`${program} ${first?.text}`] ?? subcommands[program] ?? 0
  const leading = args.slice(0, words).map(({ text }) => text)
  return leading.length === words && leading.every((text) => isWord(text) && !text.startsWith("-"))
    ? [program, ...leading, "*"].join(" ")
    : pattern
}

/** The rules; none where the line is not all known, or where a rule would say more than it names. */
export const offersFor = ({ invocations, settings, unclear }: Parts): ReadonlyArray<string> => {
  const known = unclear === undefined && settings.length === 0 &&
    invocations.every(({ args }) => args.every(({ fixed }) => fixed))
  const rules = invocations.map(ruleFor)
  return known && rules.every((rule) => !/[*?]/.test(rule.replace(/ \*$/, ""))) ? [...new Set(rules)] : []
}
