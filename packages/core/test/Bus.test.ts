import { Bus } from "@skein/core/Bus"
import { busSuite } from "@skein/testing/BusSuite"

busSuite("in memory", Bus.layer)
