// How many alerts nobody has acknowledged, before the tab's title: it is seen while another tab is in front.

import { ask } from "./requests.js";

const POLL_MILLISECONDS = 15_000;
const COUNTED = /^\(\d+\) /;

export class AlertCount {
  constructor() {
    this.count = 0;
  }

  // isLive: only then does the server answer whom it lets read.
  begin(isLive) {
    if (this.timer || !isLive()) return;
    this.timer = setInterval(() => isLive() && this.read(), POLL_MILLISECONDS);
    this.read();
  }

  end() {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  async read() {
    const answer = await ask("GET", "/api/alerts?state=open&limit=1");
    if (answer.isDone) this.count = answer.body.unacknowledged;
    this.show();
  }

  // Streamlit writes the title of each page it draws.
  show() {
    const bare = document.title.replace(COUNTED, "");
    const wanted = this.count ? `(${this.count}) ${bare}` : bare;
    if (document.title !== wanted) document.title = wanted;
  }
}
