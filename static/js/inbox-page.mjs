/** The inbox: running times, and polling only while the page is visible. */

import { startClock } from "./clock.mjs";
import { pauseWhenHidden } from "./dom.mjs";

startClock();
pauseWhenHidden();
