/** What processes say to one another's tasks: finds what waits without reading all that was ever said. */
import { migration } from "../internal/migration.ts"

export const mail = migration(() => [
  "CREATE INDEX inbox_mail ON inbox (id) WHERE taken_at IS NULL AND kind IN ('steer', 'stop')"
])
