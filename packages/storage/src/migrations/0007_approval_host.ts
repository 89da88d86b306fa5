/** The host on which an approval of a project was given: on another one, the same path is another project. */
import { migration } from "../internal/migration.ts"

export const approvalHost = migration(({ text }) => [`ALTER TABLE approval ADD COLUMN host ${text}`])
