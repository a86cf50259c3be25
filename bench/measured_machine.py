"""The machine that figures of a page are measured on."""
import os


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        models = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{os.sysconf('SC_NPROCESSORS_ONLN')} cores of {models[0] if models else 'an unknown processor'}"


def machine_with_load():
    return f"{machine()}, load {os.getloadavg()[0]:.1f} when it began"
