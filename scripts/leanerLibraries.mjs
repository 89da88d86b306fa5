// @ts-check
// Replaces slow code of libraries in the bundle, without changing their behaviour.
import { readFileSync } from "node:fs"

const core = "effect/dist/esm/internal/core.js"
const fiberRefs = "effect/dist/esm/internal/fiberRefs.js"
const fiberRuntime = "effect/dist/esm/internal/fiberRuntime.js"
const tracer = "effect/dist/esm/internal/tracer.js"
const mcpShims = "@modelcontextprotocol/client/dist/shimsNode.mjs"
const openAi = "@ai-sdk/openai/dist/index.mjs"
const providerUtils = "@ai-sdk/provider-utils/dist/index.mjs"

/**
 * A file of a library, a text in it, and what stands there instead.
 * @type {ReadonlyArray<readonly [file: string, text: RegExp, instead: string]>}
 */
const leaner = [
  // A checker of JSON Schema with everything it knows, for answers of MCP tools: nobody asks for it.
  [mcpShims, /import \{ n as AjvJsonSchemaValidator \} from "[^"]*";/, "const AjvJsonSchemaValidator = undefined;"],
  // zod imported as one object, of which nothing can be left out, has messages in fifty languages. As a namespace it is the
  // same, at a third of the size.
  [openAi, /import \{ z \} from "zod\/v4";/g, "import * as z from \"zod/v4\";"],
  [openAi, /import \{ z as (\w+) \} from "zod\/v4";/g, "import * as $1 from \"zod/v4\";"],
  // Node's own Headers, made and taken apart again twice a request, take a tenth of a short one, and their first use
  // loads all of undici before the first request.
  [providerUtils, /headers instanceof Headers(?=\))/, "typeof headers.getSetCookie === \"function\""],
  [
    providerUtils,
    /new Headers\((normalizeHeaders\(headers\))\)/,
    "new Map(Object.entries($1).map(([name, value]) => [name, String(value).trim()]))"
  ],
  // Whether a minifier left the name of a function in stack traces is known here: to see it in one, V8 counts the lines of
  // the whole program first.
  ["effect/dist/esm/Utils.js", /(?<=const isNotOptimizedAway = ).*(?=;)/, "true"],
  // Each operation of a fiber makes up to three closures: one for tracers that keep a context, and the others mark where a
  // stack trace ends. A method of the same name marks that place without a closure.
  [tracer, /^(?=export const nativeTracer = )/m, "export const withoutContext = f => f();\n"],
  [tracer, /(?<=^ {2}context: )f => f\(\)$/m, "withoutContext"],
  [
    fiberRuntime,
    /cur = this\.currentTracer\.context\(\(\) => \{.*?return this\[cur\._op\]\(cur\);\s*\}, this\);/s,
    "cur = this.currentTracer.context === tracer.withoutContext ? this.effect_internal_function(cur) : this.inContext(cur);"
  ],
  [
    fiberRuntime,
    /^(?= {2}runLoop\(effect0\) \{)/m,
    "  effect_internal_function(op) { return this[op._op](op); }\n"
    + "  inContext(op) { return this.currentTracer.context(() => this.effect_internal_function(op), this); }\n"
  ],
  [fiberRuntime, /internalCall\(\(\) => (.+)\)(?=;$|\) \{$)/gm, "$1"],
  [core, /internalCall\(\(\) => (this\.effect_instruction_i0\([^()]*\))\)/g, "$1"],
  // A fiber copies all its references to set one, also to what it is already. Whether two values are the same can be seen
  // without taking them apart; what is set to an equal one is set.
  [
    fiberRefs,
    /(?=^ {2}const locals = new Map\(self\.locals\);\n {2}unsafeUpdateAs)/m,
    "  const top = self.locals.get(fiberRef)?.[0];\n"
    + "  if (top !== undefined && top[1] === value && top[0][Equal.symbol](fiberId)) return self;\n"
  ],
  [fiberRefs, /Equal\.equals\(currentValue, value\)/, "currentValue === value"],
  // To have a reference set for a while, as each `provide` has the context, is nine operations and not twenty-four.
  [
    core,
    /(?<=^export const fiberRefLocally = .*\(use, self, value\) => ).*(?=\);$)/m,
    `uninterruptibleMask(restore => withFiberRuntime(state => {
  const before = state.getFiberRef(self);
  state.setFiberRef(self, value);
  return flatMap(exit(restore(use)), ended => { state.setFiberRef(self, before); return ended; });
}))`
  ]
]

/** @type {import("esbuild").Plugin} */
export const leanerLibraries = {
  name: "leaner-libraries",
  setup: (build) => {
    for (const file of new Set(leaner.map(([of]) => of))) {
      const own = leaner.filter(([of]) => of === file)
      const filter = new RegExp(`[\\\\/]node_modules[\\\\/]${file.replaceAll(".", "\\.").replaceAll("/", "[\\\\/]")}$`)
      build.onLoad({ filter }, ({ path }) => {
        const source = readFileSync(path, "utf8")
        const warnings = own.filter(([, text]) => source.search(text) < 0).map(([, text]) => ({
          text: `${file} no longer contains ${text}: check what scripts/leanerLibraries.mjs replaces there, and why`
        }))
        return { contents: own.reduce((text, [, from, to]) => text.replace(from, to), source), warnings }
      })
    }
  }
}
