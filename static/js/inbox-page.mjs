/** The inbox: times that go on, and polling only while somebody looks. */

import { startClock } from "./clock.mjs";
import { pauseWhenHidden } from "./dom.mjs";

startClock();
pauseWhenHidden();
