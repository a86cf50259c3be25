"""A hook of mkdocs: programs that write pages stand in this folder, and are no pages."""


def on_files(files, config):
    for file in list(files):
        if file.src_path.startswith("generator/"):
            files.remove(file)
    return files
