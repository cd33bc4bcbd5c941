// The viewer's entry: routes, then the page.
import { render } from "preact";

import { App } from "./ui/app.tsx";
import { listen } from "./ui/router.ts";

listen();
render(<App />, document.getElementById("app") as HTMLElement);
