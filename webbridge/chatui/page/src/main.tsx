// SPDX-License-Identifier: Apache-2.0
import { createRoot } from "react-dom/client";
import { App } from "./view/app.tsx";
import "./style/base.css";
import "./style/transcript.css";

createRoot(document.getElementById("root")!).render(<App />);
