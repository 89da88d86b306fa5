/** The door of this room: reads facts from lines of source and documentation, and has the patterns that find such lines. */
import { importPatterns } from "./imports.ts"
import { entryPattern, exportPattern, todoPattern } from "./marks.ts"

export { type Import, importsOf } from "./imports.ts"
export { readDocComment, readIntroduction } from "./introduction.ts"
export { type Manifest, manifestFolder, readManifest } from "./manifest.ts"
export { entriesOf, todosOf } from "./marks.ts"

/** Patterns for grep. */
export const patterns = {
  /** Every line: the count is the size of a file. */
  anyLine: "^",
  /** Imports, by family of languages. */
  imports: importPatterns,
  /** Exports. */
  exports: exportPattern,
  /** Entry points. */
  entries: entryPattern,
  /** TODOs in comments. */
  todos: todoPattern
}
